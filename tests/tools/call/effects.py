"""An operation with an outside effect, for tests: it posts, and can be held, refused or broken in the middle."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, cast

from chain.chains import EvmChains
from domain.next_steps import NextStep
from domain.ports import SignInVerifier
from domain.settings import Config
from server.system import SystemIds
from storage.store import Store, open_store
from storage.unit_of_work import UnitOfWork
from tests.databases import PATIENT
from tests.world import Clock
from tools.dispatch.run import run
from tools.model.operation import (
    Caller,
    Deps,
    ExternalEffect,
    HandlerResult,
    Operation,
    OperationResult,
    RequestContext,
    RequestModel,
    ResponseModel,
)

AGENT = Caller("agent", "u_agent", "u_owner")
LOOK = NextStep("Read the order", None, "GET /wallet/order/{order_id}")


class Order(RequestModel):
    """What to buy."""

    size: int


class Ordered(ResponseModel):
    """What was bought."""

    size: int
    secret: str | None = None


async def nothing() -> None:
    """Let the post through."""


@dataclass
class Venue:
    """Takes posts; `on_post` runs when one has arrived."""

    on_post: Callable[[], Awaitable[None]] = nothing
    posts: list[int] = field(default_factory=list)
    fails_to_finish: bool = False

    def begin(self, uow: UnitOfWork, ctx: RequestContext[Order, None]) -> int:
        uow.switches.set("order", "executing", ctx.now, "test")
        return ctx.request.size

    async def act(self, deps: Deps, caller: Caller, size: int) -> int:
        self.posts.append(size)
        await self.on_post()
        return size

    def finish(
        self, uow: UnitOfWork, ctx: RequestContext[Order, None], started: int, done: int
    ) -> HandlerResult[Ordered]:
        uow.switches.set("order", "executed", ctx.now, "test")
        if self.fails_to_finish:
            raise LookupError("no such row")
        bought = Ordered(size=done, secret="s")
        return HandlerResult(bought, stored_body=Ordered(size=done, secret=None))

    def undo(self, uow: UnitOfWork, ctx: RequestContext[Order, None], started: int) -> None:
        uow.switches.set("order", "rejected", ctx.now, "test")

    @property
    def operation(self) -> Operation:
        steps = {"begin": self.begin, "act": self.act, "finish": self.finish, "undo": self.undo}
        effect: ExternalEffect[int, int] = ExternalEffect(**steps, reconcile=(LOOK,), bound_s=5)
        return Operation(
            name="order_execute",
            title="Execute an order",
            summary="Posts it.",
            auth="agent",
            route=("POST", "/wallet/order"),
            request_model=Order,
            response_model=Ordered,
            writes=True,
            effect=effect,
            statuses={201: "Bought"},
            idempotency=lambda caller, asked: f"{caller.user_id}:order",
        )


def deps_on(store: Store, clock: Clock) -> Deps:
    return Deps(store, EvmChains([]), clock, SystemIds(), Config(), cast(SignInVerifier, None))


async def order(
    venue: Venue, deps: Deps, *, size: int = 7, key: str | None = "k"
) -> OperationResult:
    return await run(venue.operation, deps, AGENT, {"size": size}, key=key)


def post_and_hang(url: str, posted: Any) -> None:
    """A process that posts, and hears nothing back until it is killed."""

    async def hang() -> None:
        posted.set()
        await asyncio.Event().wait()

    async def work() -> None:
        store = await open_store(url, PATIENT)
        await order(Venue(on_post=hang), deps_on(store, Clock()))

    asyncio.run(work())
