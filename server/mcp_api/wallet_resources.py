"""Mandates and approvals as MCP resources: read, and subscribed to, in both eras."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias
from weakref import WeakKeyDictionary, ref

import anyio
import mcp.types as t
from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp.server.connection import Connection
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourceUpdated,
    ServerEvent,
)

from domain.refusals import Refused, refusal
from storage.errors import Unavailable
from storage.unit_of_work import UnitOfWork
from tools.context.access import not_found, visible_mandate
from tools.dispatch.run import check_scope, door_is_open, refused_reply, unavailable
from tools.model.operation import Caller, Deps, Operation, OperationResult
from tools.model.serialization import encoded

if TYPE_CHECKING:
    from starlette.requests import Request

log = logging.getLogger("wallet.mcp")

WATCH_S: Final = 1
MOST: Final = 32  # resources of one stream or session
MOST_OF_PROCESS: Final = 5_000
JSON: Final = "application/json"
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
# The caller of a request, by what it was sent with: anew, or as the door has identified it.
CallerOf = Callable[["Request | None", bool], Awaitable[Caller]]
Read = Callable[[Context, str], Awaitable[OperationResult]]
Deliver = Callable[[str], Awaitable[None]]


@dataclass(slots=True, eq=False)
class Subscription:
    """Resources that one stream or session hears of, with the right of its request."""

    request: Request | None
    deliver: Deliver
    uris: set[str] = field(default_factory=set)


class StreamBus:
    """The bus of one stream of the newer era: every change of lists, and of its own resources."""

    def __init__(self, lists: InMemorySubscriptionBus):
        self._lists = lists
        self._listener: Callable[[ServerEvent], None] | None = None

    async def publish(self, event: ServerEvent) -> None:
        """Tell this stream."""
        if self._listener is not None:
            self._listener(event)

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Tell a listener of both."""
        self._listener = listener
        return self._lists.subscribe(listener)


class WalletResources:
    """Resources of the wallet. A change is seen in the database, whichever process made it, and is
    told to who may still see the resource; who may not is no subscriber any more.
    """

    def __init__(
        self,
        deps: Deps,
        bus: InMemorySubscriptionBus,
        operation: Callable[[], Awaitable[Operation]],
        caller_of: CallerOf,
        read: Read,
    ):
        self._deps, self._bus, self._operation = deps, bus, operation
        self._caller_of, self._read = caller_of, read
        self._streams: dict[ListenHandler, Subscription] = {}
        self._sessions: WeakKeyDictionary[Connection, Subscription] = WeakKeyDictionary()
        self._seen: dict[str, str] = {}

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
            if _is_guest(ctx):
                why = "Another process holds this session and tells its notices: subscribe again."
                raise Refused(refusal("conflict", why=why, retry_safe=True))
            subscription = self._sessions.get(connection)
            if subscription is None:
                subscription = Subscription(ctx.request, _notifier(connection))
            if len(subscription.uris | {uri}) > MOST or self._is_full():
                why = f"A session subscribes to {MOST} resources at most."
                raise Refused(refusal("rate_limited", why=why, retry_safe=False))
        except (Refused, Unavailable) as trouble:
            raise self._as_error(uri, trouble) from None
        subscription.request = ctx.request
        subscription.uris.add(uri)
        self._sessions[connection] = subscription
        await self._note([uri])
        return t.EmptyResult()

    async def unsubscribe(self, ctx: Context, params: t.UnsubscribeRequestParams) -> t.EmptyResult:
        """Hear of it no more; nothing where it was not subscribed to."""
        subscription = self._sessions.get(ctx.session._connection)
        if subscription is not None:
            subscription.uris.discard(str(params.uri))
        return t.EmptyResult()

    # -- the newer era: a stream names its resources when it opens

    async def __call__(
        self, ctx: Context, params: t.SubscriptionsListenRequestParams
    ) -> t.SubscriptionsListenResult:
        """Serve one stream; of the resources it names, those that its caller may see are
        acknowledged.
        """
        named = list(dict.fromkeys(params.notifications.resource_subscriptions or ()))[:MOST]
        allowed = (
            []
            if self._is_full()
            else [u for u in named if await self._may_see(ctx.request, u, False)]
        )
        honored = params.notifications.model_copy(update={"resource_subscriptions": allowed})
        bus = StreamBus(self._bus)
        handler = ListenHandler(bus, max_subscriptions=1)

        async def deliver(uri: str) -> None:
            await bus.publish(ResourceUpdated(uri))

        self._streams[handler] = Subscription(ctx.request, deliver, set(allowed))
        try:
            await self._note(allowed)
            return await handler(ctx, params.model_copy(update={"notifications": honored}))
        finally:
            del self._streams[handler]

    def close(self) -> None:
        """End every stream with its last frame."""
        for handler in list(self._streams):
            handler.close()

    async def _may_see(self, request: Request | None, uri: str, anew: bool) -> bool:
        try:
            await self._check(await self._caller_of(request, anew), uri)
        except Refused:
            return False
        return True

    def _is_full(self) -> bool:
        return len(self.watched()) >= MOST_OF_PROCESS

    # -- changes

    def _subscriptions(self) -> list[Subscription]:
        return [*self._streams.values(), *self._sessions.values()]

    def watched(self) -> set[str]:
        """The resources of which somebody wants to hear."""
        return {uri for subscription in self._subscriptions() for uri in subscription.uris}

    async def run(self) -> None:
        """Tell of changes, until cancelled."""
        while True:
            await anyio.sleep(WATCH_S)
            watched = self.watched()
            self._seen = {uri: v for uri, v in self._seen.items() if uri in watched}
            if not watched:
                continue
            try:
                await self.look(watched)
            except Unavailable as error:
                log.warning("resources: the database: %s", error.why)
            except Exception:
                log.exception("resources; trying again")

    async def _note(self, uris: Iterable[str]) -> None:
        """Note how resources are now, so that what changes from now on is told."""
        new = [uri for uri in uris if uri not in self._seen]
        if new:
            self._seen |= {u: v for u, v in (await self._versions(new)).items() if u in new}

    async def look(self, uris: Iterable[str]) -> None:
        """Look once, and tell the subscribers of what changed."""
        for uri, version in (await self._versions(uris)).items():
            before, self._seen[uri] = self._seen.get(uri), version
            if before not in (None, version):
                await self._tell(uri)

    async def _versions(self, uris: Iterable[str]) -> Mapping[str, str]:
        forms = [form for uri in uris if (form := _URI.fullmatch(uri))]
        ids = {kind: [f[2] for f in forms if f[1] == kind] for kind in ("mandates", "approvals")}
        now = self._deps.clock.now()

        def versions(uow: UnitOfWork) -> Mapping[str, str]:
            mandates = uow.mandates.versions(ids["mandates"])
            approvals = uow.approvals.versions(ids["approvals"], now)
            return {f"wallet://mandates/{n}": v for n, v in mandates.items()} | {
                f"wallet://approvals/{n}": v for n, v in approvals.items()
            }

        return await self._deps.store.read(versions)

    async def _tell(self, uri: str) -> None:
        for subscription in self._subscriptions():
            if uri not in subscription.uris:
                continue
            if await self._may_see(subscription.request, uri, True):
                await subscription.deliver(uri)
            else:
                subscription.uris.discard(uri)


def _notifier(connection: Connection) -> Deliver:
    """A session lives as long as its transport keeps its connection, and no longer for this."""
    kept = ref(connection)

    async def notify(uri: str) -> None:
        connection = kept()
        if connection is None:
            return
        with anyio.move_on_after(WATCH_S):
            await connection.notify("notifications/resources/updated", {"uri": uri})

    return notify


def _is_guest(ctx: Context) -> bool:
    """True where the session's own process is another one."""
    named = ctx.request is not None and "mcp-session-id" in ctx.request.headers
    return named and ctx.session._connection.session_id is None


def _error(uri: str, reply: OperationResult) -> MCPError:
    code = t.INVALID_PARAMS if reply.status in (400, 401, 403, 404) else t.INTERNAL_ERROR
    text = "Resource not found" if reply.status == 404 else str(reply.body["reason"])
    return MCPError(code, text, {"uri": uri, "refusal": dict(reply.body)})
