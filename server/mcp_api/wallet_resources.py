"""Mandates and approvals as MCP resources: read, and subscribed to, in both eras."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Final, TypeAlias

import anyio
import mcp.types as t
from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp.server.connection import Connection
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourceUpdated
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from domain.refusals import Refused, refusal
from server.mcp_api.held_calls import CallerOf, HeldCalls, follows_tasks
from server.mcp_api.listen_stream import TASK_IDS, ListenStream, TaskChanged
from server.mcp_api.listeners import APPROVAL, TASK, ChangeListener, Listeners
from server.mcp_api.session_stream import SESSION, SessionStream
from server.mcp_api.shared_subscriptions import MOST, SharedSubscriptions
from storage.errors import Unavailable
from storage.unit_of_work import UnitOfWork
from tools.context.access import not_found, visible_mandate
from tools.dispatch.run import check_scope, door_is_open, refused_reply, unavailable
from tools.model.operation import Caller, Deps, Operation, OperationResult
from tools.model.serialization import encoded

NOTIFY_S: Final = 10
MOST_OF_PROCESS: Final = 5_000
JSON: Final = "application/json"
MCP: Final = "/mcp"
READ: Final = "mandate_get"
_URI: Final = re.compile(r"wallet://(mandates|approvals)/([a-z]{1,2}_[a-z2-7]{10})")
TEMPLATES: Final = (
    t.ResourceTemplate(
        uri_template="wallet://mandates/{public_id}",
        name="mandate",
        description="One mandate, as mandate_get answers it; subscribe to hear when it changes.",
        mime_type=JSON,
    ),
    t.ResourceTemplate(
        uri_template="wallet://approvals/{approval_id}",
        name="approval",
        description="One action that waits for the owner; subscribe to hear of the decision.",
        mime_type=JSON,
    ),
)
Context: TypeAlias = "ServerRequestContext[object, Request]"
Read = Callable[[Context, str], Awaitable[OperationResult]]


class WalletResources:
    """Resources of the wallet, and who listens to them; who may not see one any more is no
    subscriber of it.
    """

    def __init__(
        self,
        deps: Deps,
        bus: InMemorySubscriptionBus,
        held: HeldCalls,
        operation: Callable[[], Awaitable[Operation]],
        caller_of: CallerOf,
        read: Read,
    ):
        self._deps, self._bus, self._held, self._operation = deps, bus, held, operation
        self._caller_of, self._read = caller_of, read
        self._streams: dict[ListenStream, ChangeListener] = {}
        self._sessions: dict[Connection, ChangeListener] = {}
        self._shared: SharedSubscriptions | None = None
        self._listeners = Listeners(deps, self._all_listeners, self._may_see)
        self.run, self.watched = self._listeners.run, self._listeners.watched

    def share(self, process: str) -> SharedSubscriptions:
        """Hear of sessions' subscriptions from other processes too."""
        self._shared = SharedSubscriptions(
            self._deps, process, self._session_listener, self._listeners.learn
        )
        self._listeners.refresh = self._shared.refresh
        return self._shared

    def _all_listeners(self) -> Iterator[ChangeListener]:
        yield from self._streams.values()
        yield from self._sessions.values()
        if self._shared is not None:
            yield from (listener for _, listener in self._shared.guests.values())

    def _session_listener(self, connection: Connection, request: Request | None) -> ChangeListener:
        """The listener of a session that this process gave, until the session ends."""
        listener = self._sessions.get(connection)
        if listener is None:
            listener = ChangeListener(request, partial(_notify, connection))
            self._sessions[connection] = listener
            connection.exit_stack.callback(self._sessions.pop, connection, None)
        return listener

    async def templates(
        self, ctx: Context, params: t.PaginatedRequestParams | None
    ) -> t.ListResourceTemplatesResult:
        """The two forms; none while the bot door is off."""
        listed = list(TEMPLATES) if await door_is_open(self._deps) else []
        return t.ListResourceTemplatesResult(
            resource_templates=listed, ttl_ms=0, cache_scope="private"
        )

    async def read(self, ctx: Context, uri: str) -> t.TextResourceContents | None:
        """A resource as JSON; None where the URI is not of the wallet.

        Errors: MCPError with the refusal.
        """
        form = _URI.fullmatch(uri)
        if form is None:
            return None
        try:
            caller = await self._caller_of(ctx.request, False)
            public_id = await self._check(caller, uri)
            if form[1] == "mandates":
                reply = await self._read(ctx, public_id)
                if reply.refused:
                    raise _error(uri, reply)
                body = encoded(reply.body)
            else:
                body = encoded({"approval": await self._approval(public_id, form[2])})
        except (Refused, Unavailable) as trouble:
            raise self._as_error(uri, trouble) from None
        return t.TextResourceContents(uri=uri, text=body.decode(), mime_type=JSON)

    async def _approval(self, public_id: str, approval_id: str) -> object:
        now = self._deps.clock.now()

        def item(uow: UnitOfWork) -> object:
            approval = uow.approvals.get(public_id, approval_id)
            return None if approval is None else approval.as_item(now)

        return await self._deps.store.read(item)

    async def _check(self, caller: Caller, uri: str) -> str:
        """The mandate of a resource that a caller may see now.

        Errors: `not_found`, alike for one that there is not; those of its operation.
        """
        form = _URI.fullmatch(uri)
        if form is None or not await door_is_open(self._deps):
            raise not_found("resource")
        if caller.role not in ("agent", "owner"):
            raise Refused(refusal("unauthenticated", needs="an agent key"))
        check_scope(await self._operation(), caller)

        def seen(uow: UnitOfWork) -> str:
            of_mandate = form[1] == "mandates"
            public_id = form[2] if of_mandate else uow.approvals.mandate_of(form[2])
            if public_id is None:
                raise not_found("resource")
            return visible_mandate(uow, caller, public_id).public_id

        return await self._deps.store.read(seen)

    def _as_error(self, uri: str, trouble: Refused | Unavailable) -> MCPError:
        refused = trouble if isinstance(trouble, Refused) else unavailable(trouble)
        return _error(uri, refused_reply(refused, self._deps.clock.now()))

    # -- the older era: a session subscribes

    async def subscribe(self, ctx: Context, params: t.SubscribeRequestParams) -> t.EmptyResult:
        """Hear of a resource on the session. Errors: MCPError with the refusal."""
        uri, connection = str(params.uri), ctx.session._connection
        try:
            await self._check(await self._caller_of(ctx.request, False), uri)
            session_id, is_full = _session_id(ctx), self._is_full()
            if self._shared is not None and session_id is not None:
                version = await self._listeners.version(uri)
                is_full = is_full or not await self._shared.add(session_id, uri, version)
            elif connection in self._sessions:
                is_full = is_full or len(self._sessions[connection].names | {uri}) > MOST
            if is_full:
                why = f"A session subscribes to {MOST} resources at most."
                raise Refused(refusal("rate_limited", why=why, retry_safe=False))
        except (Refused, Unavailable) as trouble:
            raise self._as_error(uri, trouble) from None
        if session_id is None or connection.session_id is not None:
            listener = self._session_listener(connection, ctx.request)
            listener.request = ctx.request
            listener.lost.discard(uri)
            listener.names.add(uri)
            await self._listeners.note([uri])
        return t.EmptyResult()

    async def unsubscribe(self, ctx: Context, params: t.UnsubscribeRequestParams) -> t.EmptyResult:
        """Hear of it no more; nothing where it was not subscribed to."""
        uri, listener = str(params.uri), self._sessions.get(ctx.session._connection)
        session_id = _session_id(ctx)
        try:
            if self._shared is not None and session_id is not None:
                await self._shared.remove(session_id, uri)
        except Unavailable as trouble:
            raise self._as_error(uri, trouble) from None
        if listener is not None:
            listener.names.discard(uri)
        return t.EmptyResult()

    async def serve_session(
        self, session_id: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Tell a session that another process gave of what changes, on a stream of this one."""
        assert self._shared is not None  # noqa: S101 - only a process that has peers is asked

        async def run(stream: SessionStream) -> None:
            unsubscribe = self._bus.subscribe(stream.tell)
            try:
                await stream.serve(scope, receive, send)
            finally:
                unsubscribe()

        await self._shared.serve(session_id, Request(scope), run)

    # -- the newer era: a stream names its resources when it opens

    async def __call__(
        self, ctx: Context, params: t.SubscriptionsListenRequestParams
    ) -> t.SubscriptionsListenResult:
        """Serve one stream; of the resources and tasks it names, those that its caller may see are
        acknowledged.
        """
        named = params.notifications
        uris = list(dict.fromkeys(named.resource_subscriptions or ()))[:MOST]
        uris = [u for u in uris if await self._may_see(ctx.request, u, False)]
        tasks = await self._tasks(ctx, (named.model_extra or {}).get(TASK_IDS))
        if self._is_full():
            uris, tasks = [], []
        honored = t.SubscriptionFilter(
            tools_list_changed=named.tools_list_changed or None,
            prompts_list_changed=named.prompts_list_changed or None,
            resources_list_changed=named.resources_list_changed or None,
            resource_subscriptions=uris or None,
            **({TASK_IDS: tasks} if tasks else {}),
        )
        stream = ListenStream(ctx, honored, self._held.state)

        async def deliver(name: str) -> None:
            is_task = name.startswith(TASK)
            stream.put(TaskChanged(name.removeprefix(TASK)) if is_task else ResourceUpdated(name))

        names = {*uris, *(TASK + one for one in tasks)}
        self._streams[stream] = ChangeListener(ctx.request, deliver, names)
        unsubscribe = self._bus.subscribe(stream.put)
        try:
            await self._listeners.note(names)
            return await stream.serve()
        finally:
            unsubscribe()
            del self._streams[stream]

    async def _tasks(self, ctx: Context, named: object) -> list[str]:
        """Those of the named tasks that the caller may follow; none where it follows none."""
        if not follows_tasks(ctx) or not isinstance(named, list):
            return []
        ids = list(dict.fromkeys(one for one in named if isinstance(one, str)))[:MOST]
        return [one for one in ids if await self._held.may_follow(ctx, one)]

    def close(self) -> None:
        """End every stream with its last frame."""
        for stream in list(self._streams):
            stream.close()

    async def _may_see(self, request: Request | None, name: str, anew: bool) -> bool:
        uri = APPROVAL + name.removeprefix(TASK) if name.startswith(TASK) else name
        try:
            await self._check(await self._caller_of(request, anew), uri)
        except Refused:
            return False
        return True

    def _is_full(self) -> bool:
        return len(self.watched()) >= MOST_OF_PROCESS


async def _notify(connection: Connection, uri: str) -> None:
    with anyio.move_on_after(NOTIFY_S):
        await connection.notify("notifications/resources/updated", {"uri": uri})


def _session_id(ctx: Context) -> str | None:
    """The id of the session in which a request came over streamable HTTP, as the guard let it."""
    own = ctx.session._connection.session_id
    if own is not None or ctx.request is None or ctx.request.scope["path"] != MCP:
        return own
    return ctx.request.headers.get(SESSION)


def _error(uri: str, reply: OperationResult) -> MCPError:
    code = t.INVALID_PARAMS if reply.status in (400, 401, 403, 404) else t.INTERNAL_ERROR
    text = "Resource not found" if reply.status == 404 else str(reply.body["reason"])
    return MCPError(code, text, {"uri": uri, "refusal": dict(reply.body)})
