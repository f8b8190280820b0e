"""Making an order: what is known of market and account, then one write that reserves and stores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from domain.agents.policy import Policy
from domain.money import ZERO, Usdc
from domain.next_steps import OWNER_OR_AGENT, NextStep
from domain.ports import Venue
from domain.refusals import Refused, refusal
from domain.trading.caps import CapCheck, Counter, DayUse, day_checks
from domain.trading.form import Wanted
from domain.trading.gate import Fault, Missing, invalid_order
from domain.trading.modes import Mode, Surface
from domain.trading.orders import (
    OWNER_HAS,
    PENDING_AN_AGENT,
    By,
    Order,
    OrderAction,
    SignMode,
    Source,
    first_status,
    wants_less,
)
from domain.trading.pricing import Priced, priced
from domain.trading.venue import Perp
from storage.unit_of_work import UnitOfWork
from tools.call.operation import Ask, Caller, Deps, Reply
from tools.call.paper import PaperDesk
from tools.call.switches import switches
from tools.call.venue_marks import venue_marks
from tools.trading.fields import venue_of
from tools.trading.orders.confirming import new_cloid, signable
from tools.trading.orders.market import Account, Market, account, market, meant
from tools.trading.orders.policies import policy_allows
from tools.trading.orders.reserving import reserve
from tools.trading.orders.standing import (
    Standing,
    passed,
    per_close,
    per_order,
    standing_of,
)
from tools.trading.orders.sweeping import holds_late, swept
from tools.trading.orders.telling import cap_told, checks_told, told


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What was found out before the write.

    `mode` is what the order was meant for then; `desk` stands behind paper; `venue` is the one that
    a live order goes to.
    """

    wanted: Wanted | Fault
    mode: Mode
    market: Market
    account: Account
    desk: PaperDesk | None
    venue: Venue | None
    marks: Mapping[str, Mapping[str, Decimal]] = field(default_factory=dict)


async def find_out(deps: Deps, wanted: Wanted | Fault, stand: Standing) -> Known:
    """Ask the venue what an order needs; a part that it does not tell is `silent`, not raised."""
    if isinstance(wanted, Fault):
        return Known(
            wanted=wanted, mode="paper", market=Market(), account=Account(), desk=None, venue=None
        )
    mode = meant(stand, wanted.mode_seen, names_book=wanted.book is not None)
    opening = not wanted.reduce_only
    venue = venue_of(deps, stand.network_of(mode))
    found = await market(deps, venue, wanted.product, opens=opening)
    held = Account()
    if mode == "live" and stand.mode == "live" and found.fault is None:
        held = await account(deps, stand, found.perp, opens=opening)
    return Known(
        wanted=wanted,
        mode=mode,
        market=found,
        account=held,
        desk=deps.paper,
        venue=venue if mode == "live" else None,
        marks=await marks_of_mandate(deps, wanted.mandate_id) if mode == "live" else {},
    )


async def marks_of_mandate(
    deps: Deps, mandate_id: str | None
) -> Mapping[str, Mapping[str, Decimal]]:
    """The venue's prices of what a mandate holds there; nothing of one that there is not."""
    if mandate_id is None:
        return {}
    m = await deps.store.read(lambda uow: uow.mandates.get(mandate_id))
    return {} if m is None else await venue_marks(deps, m)


async def known(deps: Deps, caller: Caller, wanted: Wanted | Fault, source: Source) -> Known:
    """The same for a caller on a surface; what is past of his owner's orders is ended before."""
    surface: Surface = "door" if source == "door" else "terminal"
    now = deps.clock.now()

    def begin(uow: UnitOfWork) -> tuple[Standing, bool]:
        on = switches(uow, deps.defaults)
        stand = standing_of(uow, on, deps.config.trading, caller, surface)
        return stand, holds_late(uow, stand.owner_id, now)

    stand, late = await deps.store.read(begin)
    if late:
        await swept(deps, stand.owner_id, now)
    return await find_out(deps, wanted, stand)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """An order that may be made: its mode, its figures, and the counters that it goes into."""

    mode: Mode
    figures: Priced
    perp: Perp
    counters: Mapping[Counter, DayUse]


def decide(
    uow: UnitOfWork,
    ask: Ask[Any, Any],
    stand: Standing,
    facts: Known,
    *,
    was: Order | None = None,
) -> Decided:
    """Whether it may be made now. Errors: the 13 in their order, then the mandate's.

    `was` is the same order as it was priced before.
    """
    wanted = facts.wanted
    if isinstance(wanted, Fault):
        raise Refused(invalid_order(wanted))
    figures = _figures(facts, wanted, stand)
    fault = figures if isinstance(figures, Fault) else facts.market.fault or facts.account.fault
    amount = figures.notional if isinstance(figures, Priced) else ZERO
    mine = () if wanted.reduce_only else stand.counters(facts.mode, ask.now)
    counters = uow.order_counters.uses(mine)
    attempt = stand.attempt(
        mode_seen=wanted.mode_seen,
        names_book=wanted.book is not None,
        prepared=was.mode if was else None,
        product=wanted.product,
        fault=fault or _asked_wrongly(uow, stand, wanted, facts.mode),
        missing=_missing(stand, facts),
        caps=_caps(stand, wanted, facts.mode, amount, counters, ask.now),
        silent=facts.market.silent or facts.account.silent,
        retry_at=ask.now + timedelta(seconds=2),
    )
    mode = passed(attempt)
    if mode != facts.mode:
        raise Refused(refusal("wallet_mode_changed", seen=facts.mode, mode=mode))
    if not isinstance(figures, Priced) or facts.market.perp is None:
        raise Refused(invalid_order(Fault(field="product", rule="it has no price")))
    policy_allows(uow, ask, stand, wanted, mode, figures.notional, was, facts.marks)
    return Decided(mode=mode, figures=figures, perp=facts.market.perp, counters=counters)


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """An order that was decided about, and is not stored yet."""

    order: Order
    stand: Standing
    decided: Decided


def prepare(uow: UnitOfWork, ask: Ask[Any, Any], facts: Known, source: Source) -> Reply:
    """Decide, reserve and store, all in this transaction. Errors: see `decide`."""
    made = make(uow, ask, facts, source)
    return stored(uow, ask, facts, made.stand, made.order, made.decided)


def make(
    uow: UnitOfWork, ask: Ask[Any, Any], facts: Known, source: Source, *, at_once: bool = False
) -> Made:
    """Decide and reserve. Errors: see `decide`.

    `at_once`: the order is filled in this transaction, and `reserved` after that. What is past was
    swept before.
    """
    stand = standing_of(
        uow,
        ask.switches,
        ask.config.trading,
        ask.caller,
        "door" if source == "door" else "terminal",
    )
    book = _book(uow, ask, facts, stand)
    decided = decide(uow, ask, stand, facts)
    order = _order(ask, stand, facts, decided, source, book)
    made = Made(order=order, stand=stand, decided=decided)
    return made if at_once else replace(made, order=reserved(uow, made))


def _figures(facts: Known, wanted: Wanted, stand: Standing) -> Priced | Fault | None:
    found = facts.market
    if found.perp is None or found.quote is None or found.fault is not None:
        return None
    most = stand.trading.order_slippage_bps
    return priced(wanted, found.perp, found.quote, most_bps=most, at_cap=found.at_cap)


def _asked_wrongly(uow: UnitOfWork, stand: Standing, wanted: Wanted, mode: Mode) -> Fault | None:
    """What only the rows tell to be wrong. An agent's slippage is bound by its owner's policy."""
    if mode == "live" and wanted.sign_mode == "none":
        return Fault(field="sign_mode", rule="a live order is signed by its owner")
    if wanted.intent_id is not None and not uow.orders.has_intent(wanted.intent_id, stand.owner_id):
        return Fault(field="intent_id", rule="an intent of the owner's own")
    policy = _policy(uow, stand)
    most = policy.slippage_bps if policy else None
    if most is None or wanted.slippage_bps is None or wanted.slippage_bps <= most:
        return None
    rule = f"the agent's policy allows {most} basis points"
    return Fault(field="slippage_bps", rule=rule, nearest=str(most))


def _policy(uow: UnitOfWork, stand: Standing) -> Policy | None:
    return uow.policies.get(stand.agent_id) if stand.agent_id else None


def _missing(stand: Standing, facts: Known) -> Missing | None:
    if stand.link is None and facts.mode == "live":
        return Missing(step="link")
    return facts.account.missing


def _caps(
    stand: Standing,
    wanted: Wanted,
    mode: Mode,
    amount: Usdc,
    counters: Mapping[Counter, DayUse],
    now: datetime,
) -> tuple[CapCheck, ...]:
    if wanted.reduce_only:
        # It opens nothing: live it is held to the limit of a close, and to no day's.
        return (per_close(stand, amount),) if mode == "live" else ()
    return (per_order(stand, amount), *day_checks(counters, amount, now))


def _order(
    ask: Ask[Any, Any],
    stand: Standing,
    facts: Known,
    decided: Decided,
    source: Source,
    book: str | None,
) -> Order:
    """The order with everything but its reservation."""
    wanted, mode, figures = facts.wanted, decided.mode, decided.figures
    if isinstance(wanted, Fault):
        raise TypeError("an order is made of what was read whole")
    by: By = "agent" if stand.agent_id else "owner"
    waits = OWNER_HAS if by == "agent" and mode == "live" else ttl(stand)
    sign_mode: SignMode = "client" if mode == "live" else "none"
    return Order(
        order_id=ask.ids.short("o_"),
        owner_id=stand.owner_id,
        agent_id=stand.agent_id,
        source=source,
        closing=False,
        mode=mode,
        mode_seen=wanted.mode_seen,
        network=stand.network_of(mode),
        wallet=stand.wallet_of(mode),
        book=book,
        product=wanted.product,
        side=wanted.side,
        type=wanted.type,
        slippage_bps=wanted.slippage_bps,
        leverage=facts.account.leverage,
        notional=figures.notional,
        action=action_of(ask, wanted, facts, decided),
        envelope=None,
        sign_mode=sign_mode,
        status=first_status(mode, by),
        version=1,
        attempt=1,
        by=by,
        mandate_id=wanted.mandate_id,
        intent_id=wanted.intent_id,
        why=wanted.why,
        asked=ask.asked.sent(),
        created_at=ask.now,
        expires_at=ask.now + waits,
        counted=ZERO,
        counted_day=None,
    )


def action_of(ask: Ask[Any, Any], wanted: Wanted, facts: Known, decided: Decided) -> OrderAction:
    """What the venue is to be told, under an id of its own."""
    return OrderAction(
        asset_id=decided.perp.asset_id,
        is_buy=wanted.side == "buy",
        limit_px=decided.figures.limit_px,
        size=decided.figures.size,
        reduce_only=wanted.reduce_only,
        tif=wanted.tif,
        cloid=new_cloid(ask.ids),
        builder=None if wanted.reduce_only else facts.account.builder,
    )


def ttl(stand: Standing) -> timedelta:
    """How long a prepared order stands."""
    return timedelta(seconds=stand.trading.confirm_ttl_s)


def _book(uow: UnitOfWork, ask: Ask[Any, Any], facts: Known, stand: Standing) -> str | None:
    """The book of a paper order; a wrong one is a field that is wrong, and told before what the
    gate looks at. Errors: `wallet_invalid_order`, `not_configured` without paper books.
    """
    if isinstance(facts.wanted, Fault) or facts.mode == "live":
        return None
    if facts.desk is None:
        raise Refused(refusal("not_configured", what="a desk for paper orders"))
    return facts.desk.book_for(
        uow,
        ask.ids,
        ask.now,
        owner_id=stand.owner_id,
        agent_id=stand.agent_id,
        named=facts.wanted.book,
    )


_WAITING: Final = NextStep(
    "Look which orders wait", "order_pending", "GET /wallet/order/pending", OWNER_OR_AGENT
)


def reserved(uow: UnitOfWork, made: Made, used: Usdc | None = None) -> Order:
    """The order with its part of the day taken, or with what it `used` where it is done; what waits
    for its owner takes none yet.
    """
    order = made.order
    if order.status == "awaiting_owner":
        who, now = order.agent_id or "", order.created_at
        if uow.orders.pending_of_agent(who, now) >= PENDING_AN_AGENT:
            ends = uow.orders.first_to_end(who, now)
            why = f"{PENDING_AN_AGENT} orders of this agent wait already."
            raise Refused(
                refusal(
                    "rate_limited",
                    why=why,
                    retry_at=ends,
                    retry_safe=ends is not None,
                    next=(_WAITING,),
                )
            )
        return order
    if not made.decided.counters:
        return replace(order, counted=order.notional if used is None else used, counted_day=None)
    return reserve(uow, made.stand, order, order.created_at, used)


def stored(
    uow: UnitOfWork,
    ask: Ask[Any, Any],
    facts: Known,
    stand: Standing,
    order: Order,
    decided: Decided,
    was: Order | None = None,
) -> Reply:
    """Give out what is to be signed, where it is time for that, and store the order."""
    confirm: str | None = None
    if order.status == "awaiting_signature":
        order, confirm = signable(uow, order, ask.ids, ask.now, order.expires_at)
    if was is None:
        uow.orders.add(order)
    else:
        order = uow.orders.save(order, was)
    on_paper = order.mode == "paper" and not wants_less(order)
    end = facts.desk.liquidation_est(uow, order, decided.perp) if on_paper and facts.desk else None
    cap = cap_told(order, decided.counters)
    checks = checks_told(order, decided.figures, decided.perp, cap, end)
    status = 201 if was is None else 200
    return told(order, ask.now, facts.venue, stand, confirm, checks, status)
