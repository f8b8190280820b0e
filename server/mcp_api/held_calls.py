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

from domain.mandates.approvals import Approval
from domain.refusals import Refused, refusal
from domain.settings import Config
from domain.times import timestamp
from storage.unit_of_work import UnitOfWork
from tools.actions.execute_call import ExecuteCallIn, ExecuteFacts
from tools.actions.held_call import approval_url
from tools.dispatch.run import refused_reply
from tools.model.operation import Deps, HandlerResult, Operation, OperationResult, RequestContext
from tools.model.serialization import wire

if TYPE_CHECKING:
    pass

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
HELD_TOOLS: Final = frozenset({EXECUTE, "mandate_act"})
AFTERWARDS: Final = timedelta(hours=1)
POLL_MS: Final = 5_000
PATIENT_POLL_MS: Final = 15_000
YOUNG: Final = timedelta(minutes=1)
Context: TypeAlias = "ServerRequestContext[object, Request]"
ToolReply = Callable[
    [Operation, Context, Mapping[str, object], str | None], Awaitable[OperationResult]
]


class TaskParams(t.RequestParams):
    """Names a task; `inputResponses` of an update are what a client did with a request."""

    task_id: str
    input_responses: dict[str, object] | None = None


def _extensions(ctx: Context) -> Mapping[str, Mapping[str, object] | None]:
    declared = ctx.session.client_capabilities
    return (declared.extensions or {}) if declared else {}


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


def _task(item: Approval, status: str, now: datetime) -> dict[str, object]:
    """A held call as a task, whose id is the approval's."""
    ends = timestamp(item.expires_at)
    message = f"The owner's answer: {item.status_at(now)}"
    if status != "completed":
        message = f"Waits for the owner until {ends}"
    return {
        "taskId": item.approval_id,
        "status": status,
        "statusMessage": message,
        "createdAt": timestamp(item.requested_at),
        "lastUpdatedAt": timestamp(item.decided_at or item.requested_at),
        "ttlMs": int((item.expires_at - item.requested_at + AFTERWARDS).total_seconds() * 1_000),
        "pollIntervalMs": POLL_MS if now - item.requested_at < YOUNG else PATIENT_POLL_MS,
    }


@cache
def _kept_for_task(op: Operation) -> Operation:
    """The operation, whose answer is kept for the task: calldata is made when it is first read."""
    handler = op.handler
    if handler is None:
        raise TypeError(f"{op.name} has no handler")

    def handle(uow: UnitOfWork, ctx: RequestContext[ExecuteCallIn, ExecuteFacts]) -> object:
        answer = handler(uow, ctx)
        if isinstance(answer, HandlerResult):
            raise Refused(refusal("conflict", why="The owner has not signed it yet."))
        return answer

    return replace(op, handler=handle, idempotency=lambda _, request: f"task:{request.public_id}")


class HeldCalls:
    """The rungs above the plain answer; nothing is stored for them but a task's last answer."""

    def __init__(
        self,
        deps: Deps,
        operations: Callable[[], Awaitable[Mapping[str, Operation]]],
        reply: ToolReply,
        result: Callable[[Operation, OperationResult], t.CallToolResult],
    ):
        self._deps, self._operations = deps, operations
        self._reply, self._result = reply, result

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
        plain: t.CallToolResult,
    ) -> t.CallToolResult | t.InputRequiredResult | dict[str, object]:
        """The answer of a held call to this client: a task, else once a request to open the page,
        else the plain one. Every other answer is the plain one.
        """
        as_task = TASKS in _extensions(ctx) and params.name == EXECUTE
        can_ask = _is_modern(ctx) and params.input_responses is None
        approval = reply.body.get("approval")
        if not can_ask or not isinstance(approval, Mapping) or approval["status"] != "pending":
            return plain
        if not as_task and not opens_links(ctx):
            return plain
        item = await self._stored(str(approval["approval_id"]))
        if item is None:
            return plain
        if as_task:
            return {"resultType": "task", **_task(item, "working", self._deps.clock.now())}
        request = _page_request(self._deps.config, item)
        return t.InputRequiredResult(
            input_requests={"approve": request}, request_state=item.approval_id
        )

    async def get(self, ctx: Context, params: TaskParams) -> dict[str, object]:
        """The task as it stands; once the owner has answered, with the result of the call."""
        item, now = await self._item(ctx, params.task_id), self._deps.clock.now()
        status = item.status_at(now)
        if status == "pending":
            return self._waiting(ctx, item, now)
        answer = await self._answer(ctx, item, status)
        if answer.refused and status == "approved" and answer.body["error"] == "conflict":
            return self._waiting(ctx, item, now)
        op = (await self._operations())[EXECUTE]
        result = self._result(op, answer).model_dump(mode="json", by_alias=True, exclude_none=True)
        return {"resultType": "complete", **_task(item, "completed", now), "result": result}

    async def acknowledge(self, ctx: Context, params: TaskParams) -> dict[str, object]:
        """Take note of an update or a cancellation: the item stays the owner's to answer."""
        await self._item(ctx, params.task_id)
        return {"resultType": "complete"}

    async def _stored(self, approval_id: str) -> Approval | None:
        return await self._deps.store.read(lambda uow: uow.approvals.by_id(approval_id))

    async def _item(self, ctx: Context, approval_id: str) -> Approval:
        """An item that the caller may see. Errors: -32602, alike for a foreign one and none."""
        item = await self._stored(approval_id)
        if item is not None:
            op = (await self._operations())[APPROVALS]
            arguments = {"public_id": item.public_id, "approval_id": approval_id}
            if not (await self._reply(op, ctx, arguments, None)).refused:
                return item
        raise MCPError(t.INVALID_PARAMS, "Unknown task")

    def _waiting(self, ctx: Context, item: Approval, now: datetime) -> dict[str, object]:
        if not opens_links(ctx):
            return {"resultType": "complete", **_task(item, "working", now)}
        request = _page_request(self._deps.config, item)
        requests = {"approve": request.model_dump(mode="json", by_alias=True, exclude_none=True)}
        task = _task(item, "input_required", now)
        return {"resultType": "complete", **task, "inputRequests": requests}

    async def _answer(self, ctx: Context, item: Approval, status: str) -> OperationResult:
        """The call's own answer, made once, or the refusal of what was declined or has lapsed."""
        now = self._deps.clock.now()
        if status == "declined":
            detail = {"approval": wire(item.as_item(now))}
            return refused_reply(Refused(refusal("owner_declined", detail=detail)), now, "agent")
        if status == "expired":
            lapsed = refusal("approval_expired", approval_id=item.approval_id)
            return refused_reply(Refused(lapsed), now, "agent")
        op = _kept_for_task((await self._operations())[EXECUTE])
        arguments = {
            "public_id": item.public_id,
            "target": item.target["address"],
            "data": item.data,
            "approve_amount": str(item.approve_amount_usdc),
            "approval_id": item.approval_id,
        }
        return await self._reply(op, ctx, arguments, item.approval_id)
