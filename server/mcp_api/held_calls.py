"""Held calls over MCP: each client hears of one in the best way that it declared on its request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final, TypeAlias

import mcp.types as t
from mcp import MCPError
from mcp.server import Server, ServerRequestContext
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from domain.mandates.approvals import Approval, HeldTask
from domain.refusals import Refused, refusal
from domain.settings import Config
from domain.times import timestamp
from storage.errors import Unavailable
from tools.actions.act_steps import act_steps
from tools.actions.held_call import approval_url
from tools.dispatch.run import refused_reply
from tools.dispatch.storage_allowance import written
from tools.model.operation import Caller, Deps, Operation, OperationResult
from tools.model.serialization import wire

if TYPE_CHECKING:
    from starlette.requests import Request

TASKS: Final = "io.modelcontextprotocol/tasks"
APPS: Final = "io.modelcontextprotocol/ui"
APP_TYPE: Final = "text/html;profile=mcp-app"
CARD_URI: Final = "ui://wallet/approval.html"
# Nothing is loaded from anywhere, nothing is asked of anybody.
_CLOSED: Final = ("connectDomains", "resourceDomains", "frameDomains", "baseUriDomains")
CARD_META: Final[Mapping[str, object]] = {
    "ui": {"csp": {name: [] for name in _CLOSED}, "prefersBorder": True},
    "openai/widgetCSP": {"connect_domains": [], "resource_domains": []},
}
EXECUTE: Final = "mandate_execute_call"
APPROVALS: Final = "mandate_approvals"
# Tools whose answer may be a held call.
PAY: Final = "mandate_pay"
HELD_TOOLS: Final = frozenset({EXECUTE, "mandate_act", PAY})
AFTERWARDS: Final = timedelta(hours=1)
POLL_MS: Final = 5_000
PATIENT_POLL_MS: Final = 15_000
YOUNG: Final = timedelta(minutes=1)
Context: TypeAlias = "ServerRequestContext[object, Request]"
ToolReply = Callable[[Operation, Context, Mapping[str, object]], Awaitable[OperationResult]]
# The caller of a request, by what it was sent with: anew, or as the door has identified it.
CallerOf = Callable[["Request | None", bool], Awaitable[Caller]]
UNKNOWN: Final = "Unknown task"


class TaskParams(t.RequestParams):
    """Names a task; `inputResponses` of an update are what a client did with a request."""

    task_id: str
    input_responses: dict[str, object] | None = None


def _extensions(ctx: Context) -> Mapping[str, Mapping[str, object] | None]:
    declared = ctx.session.client_capabilities
    return (declared.extensions or {}) if declared else {}


def follows_tasks(ctx: Context) -> bool:
    """Whether the client follows tasks, in the era whose extension they are."""
    return _is_modern(ctx) and TASKS in _extensions(ctx)


def shows_cards(ctx: Context) -> bool:
    """Whether the client renders MCP Apps."""
    types = (_extensions(ctx).get(APPS) or {}).get("mimeTypes")
    return isinstance(types, list) and APP_TYPE in types


def opens_links(ctx: Context) -> bool:
    """Whether the client asks its person to open an address, in the era in which a call does."""
    declared = ctx.session.client_capabilities
    asks = declared.elicitation if declared else None
    return _is_modern(ctx) and asks is not None and asks.url is not None


def _is_modern(ctx: Context) -> bool:
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def with_card(tool: t.Tool) -> t.Tool:
    """A tool whose held answer the card shows; the card calls no tool."""
    meta = {"ui": {"resourceUri": CARD_URI, "visibility": ["model"]}}
    return tool.model_copy(update={"meta": meta}) if tool.name in HELD_TOOLS else tool


@cache
def card() -> str:
    """The card: one file with everything in it."""
    return files("server").joinpath("data/approval.html").read_text()


def card_resource() -> t.Resource:
    """The card as it is listed."""
    about = "A held action: its facts, and a button that opens the owner's page of it."
    return t.Resource(
        uri=CARD_URI,
        name="approval",
        description=about,
        mime_type=APP_TYPE,
        _meta=dict(CARD_META),
    )


def card_contents() -> t.TextResourceContents:
    """The card as it is read."""
    return t.TextResourceContents(
        uri=CARD_URI, mime_type=APP_TYPE, text=card(), _meta=dict(CARD_META)
    )


def _page_request(config: Config, item: Approval) -> t.ElicitRequest:
    """A request to open the owner's page of an item."""
    message = f"Approve or decline an action of {item.approve_amount_usdc} USDC"
    url = approval_url(config, item.public_id, item.approval_id)
    return t.ElicitRequest(params=t.ElicitRequestURLParams(message=message, url=url))


def _task(item: Approval, status: str, message: str, now: datetime) -> dict[str, object]:
    """A held call as a task, whose id is the approval's."""
    return {
        "taskId": item.approval_id,
        "status": status,
        "statusMessage": message,
        "createdAt": timestamp(item.requested_at),
        "lastUpdatedAt": timestamp(item.decided_at or item.requested_at),
        "ttlMs": int((item.expires_at - item.requested_at + AFTERWARDS).total_seconds() * 1_000),
        "pollIntervalMs": POLL_MS if now - item.requested_at < YOUNG else PATIENT_POLL_MS,
    }


def _waits(item: Approval) -> str:
    return f"Waits for the owner until {timestamp(item.expires_at)}"


def _goes_on(answer: OperationResult) -> str | None:
    """The reason why a task has no answer yet: the same call may be answered otherwise later."""
    if answer.refused:
        is_passing = answer.body.get("retry_safe") is True or answer.status >= 500
        return str(answer.body["reason"]) if is_passing else None
    outcome = answer.body.get("outcome")
    if answer.body.get("approval") is not None:
        return "The owner has not signed it yet"
    if outcome in ("pending", "unknown"):
        return str(answer.body.get("reason") or "Sent, and not in a block yet")
    return None


class HeldCalls:
    """The rungs above the plain answer. A task is the call that was answered with it: it is made
    once the owner has approved, by whoever reads the task, and its answer is kept.
    """

    def __init__(
        self,
        deps: Deps,
        operations: Callable[[], Awaitable[Mapping[str, Operation]]],
        reply: ToolReply,
        caller_of: CallerOf,
        result: Callable[[Operation, OperationResult], dict[str, object]],
    ):
        self._deps, self._operations = deps, operations
        self._reply, self._caller_of, self._result = reply, caller_of, result

    def add_to(self, server: Server[object]) -> None:
        """Register the tasks extension."""
        server.extensions[TASKS] = {}
        server.add_request_handler("tasks/get", TaskParams, self.get)
        server.add_request_handler("tasks/update", TaskParams, self.acknowledge)
        server.add_request_handler("tasks/cancel", TaskParams, self.acknowledge)

    async def best_answer(
        self,
        ctx: Context,
        params: t.CallToolRequestParams,
        reply: OperationResult,
        plain: dict[str, object],
    ) -> t.InputRequiredResult | dict[str, object]:
        """The answer of a held call to this client: a task, else once a request to open the page,
        else the plain one. Every other answer is the plain one.
        """
        approval = reply.body.get("approval")
        if approval is None or not _is_modern(ctx) or params.input_responses is not None:
            return plain
        if not isinstance(approval, Mapping) or approval["status"] != "pending":
            return plain
        as_task = follows_tasks(ctx) and params.name in HELD_TOOLS
        if not as_task and not opens_links(ctx):
            return plain
        item = await self._stored(str(approval["approval_id"]))
        if item is None:
            return plain
        if as_task:
            return await self._followed(ctx, item, params, plain)
        request = _page_request(self._deps.config, item)
        return t.InputRequiredResult(
            input_requests={"approve": request}, request_state=item.approval_id
        )

    async def _followed(
        self,
        ctx: Context,
        item: Approval,
        params: t.CallToolRequestParams,
        plain: dict[str, object],
    ) -> dict[str, object]:
        """The task of a held call. An item has one: another call of the same action is answered
        plainly, so that no task is two calls.
        """
        task = HeldTask(
            approval_id=item.approval_id,
            public_id=item.public_id,
            tool=params.name,
            arguments=params.arguments or {},
        )
        try:
            caller = await self._caller_of(ctx.request, False)
            kept = await written(self._deps, caller, lambda uow: uow.approvals.follow(task))
        except (Refused, Unavailable):
            return plain
        if not kept.is_of(task.tool, task.arguments):
            return plain
        now = self._deps.clock.now()
        return {"resultType": "task", **_task(item, "working", _waits(item), now)}

    async def get(self, ctx: Context, params: TaskParams) -> dict[str, object]:
        """The task as it stands; once the owner has answered, with the result of the call."""
        item, now = await self._item(ctx, params.task_id), self._deps.clock.now()
        task = await self._task_of(item)
        if task is None:
            raise MCPError(t.INVALID_PARAMS, UNKNOWN)
        if task.status is None:
            status = item.status_at(now)
            if status == "pending":
                return self._waiting(ctx, item, now)
            answer = await self._answer(ctx, item, task, status)
            why = _goes_on(answer)
            if why is not None:
                return {"resultType": "complete", **_task(item, "working", why, now)}
            ended = replace(task, status=answer.status, answer=answer.body)
            caller = await self._caller_of(ctx.request, False)
            task = await written(self._deps, caller, lambda uow: uow.approvals.answer_task(ended))
        op = (await self._operations())[task.tool]
        result = self._result(op, OperationResult(task.status or 200, task.answer))
        message = f"The owner's answer: {item.status_at(now)}"
        return {"resultType": "complete", **_task(item, "completed", message, now)} | {
            "result": result
        }

    async def may_follow(self, ctx: Context, task_id: str) -> bool:
        """Whether there is such a task, and the caller may see it."""
        try:
            return await self._task_of(await self._item(ctx, task_id)) is not None
        except (MCPError, Unavailable):
            return False

    async def state(self, ctx: Context, task_id: str) -> Mapping[str, object] | None:
        """The task as a notice tells it; None where this caller cannot read it now."""
        try:
            task = await self.get(ctx, TaskParams(task_id=task_id))
        except (MCPError, Refused, Unavailable):
            return None
        return {name: value for name, value in task.items() if name != "resultType"}

    async def acknowledge(self, ctx: Context, params: TaskParams) -> dict[str, object]:
        """Take note of an update or a cancellation: the item stays the owner's to answer."""
        await self._item(ctx, params.task_id)
        return {"resultType": "complete"}

    async def _stored(self, approval_id: str) -> Approval | None:
        return await self._deps.store.read(lambda uow: uow.approvals.by_id(approval_id))

    async def _task_of(self, item: Approval) -> HeldTask | None:
        named = item.public_id, item.approval_id
        return await self._deps.store.read(lambda uow: uow.approvals.task(*named))

    async def _item(self, ctx: Context, approval_id: str) -> Approval:
        """An item that the caller may see. Errors: -32602, alike for a foreign one and none."""
        item = await self._stored(approval_id)
        if item is not None:
            op = (await self._operations())[APPROVALS]
            arguments = {"public_id": item.public_id, "approval_id": approval_id}
            if not (await self._reply(op, ctx, arguments)).refused:
                return item
        raise MCPError(t.INVALID_PARAMS, UNKNOWN)

    def _waiting(self, ctx: Context, item: Approval, now: datetime) -> dict[str, object]:
        if not opens_links(ctx):
            return {"resultType": "complete", **_task(item, "working", _waits(item), now)}
        request = _page_request(self._deps.config, item)
        requests = {"approve": request.model_dump(mode="json", by_alias=True, exclude_none=True)}
        task = _task(item, "input_required", _waits(item), now)
        return {"resultType": "complete", **task, "inputRequests": requests}

    async def _answer(
        self, ctx: Context, item: Approval, task: HeldTask, status: str
    ) -> OperationResult:
        """The call's own answer, or the refusal of what was declined or has lapsed.

        Errors: MCPError where this caller may not make the call: the task is another's to end.
        """
        now, arguments = self._deps.clock.now(), dict(task.arguments)
        if status == "declined":
            detail = {"approval": wire(item.as_item(now))}
            return refused_reply(Refused(refusal("owner_declined", detail=detail)), now, "agent")
        if task.tool == EXECUTE:
            arguments["approval_id"] = item.approval_id
        # What was sent is followed to its end; nothing is sent by an approval that is over.
        is_over = status == "expired" or (status == "used" and task.tool not in (EXECUTE, PAY))
        if is_over and not await self._is_sent(ctx, task):
            lapsed = refusal("approval_expired", approval_id=item.approval_id)
            named = lapsed if task.tool == EXECUTE else act_steps(lapsed)
            return refused_reply(Refused(named), now, "agent")
        answer = await self._reply((await self._operations())[task.tool], ctx, arguments)
        if answer.refused and answer.status in (401, 403):
            raise MCPError(
                t.INVALID_REQUEST, str(answer.body["reason"]), {"refusal": dict(answer.body)}
            )
        return answer

    async def _is_sent(self, ctx: Context, task: HeldTask) -> bool:
        """Whether the act of a task was signed and stored."""
        agent_id = (await self._caller_of(ctx.request, False)).user_id or ""
        key = str(task.arguments.get("idempotency_key"))
        named = agent_id, task.public_id, key
        return await self._deps.store.read(lambda uow: uow.sent_calls.find(*named)) is not None
