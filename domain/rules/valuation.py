"""Valuation: cash, positions, floor and the agent's fee, from the measured book."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from domain.chain_facts import VaultState
from domain.ledger.fast_copy import fast_replace
from domain.ledger.state.ledger_state import LedgerState
from domain.ledger.state.measured import MeasuredBook
from domain.ledger.state.positions import MeasuredPosition, revalue, shares
from domain.mandates.mandate import Mandate
from domain.money import ZERO, Usdc
from domain.rules.snapshot import MandateSnapshot

Source = Literal["chain_mark", "agent_mark", "cost", "cash"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ValuedPosition:
    """An open position, its value, and the source of that value."""

    position: MeasuredPosition
    value: int
    source: Source
    marked_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Valuation:
    """Worth, and its weakest source; micro-USDC, None before the first chain row.

    Shapes: `positions` are the open ones, each with its value.
    """

    worth: int | None
    cash: int | None
    source: Source
    positions: Mapping[str, ValuedPosition]

    @property
    def positions_est(self) -> int | None:
        """Worth less cash."""
        return None if self.worth is None or self.cash is None else self.worth - self.cash


def valued(
    state: LedgerState, lens: VaultState | None = None, keys: Sequence[str] = ()
) -> Valuation:
    """Cash, positions and worth from one observation: the vault's probe values at one block,
    with the flows after it; before the first, by the agent's marks, else at cost.

    Shapes: `lens` is the vault read at one block, `keys` are those of its probes in their order. It
    counts where every probe answered and it is no older than the ledger's newest observation. Where
    it has movements that the ledger does not have yet, its worth stands beside the ledger's cash,
    and the open positions share the difference.
    Source: contract 5, "Worth".
    """
    book = state.measured
    cash = book.cash
    if cash is None:
        return Valuation(worth=None, cash=None, source="cash", positions={})
    if lens is not None and _counts(book, lens):
        worth = (lens.cash + lens.positions + lens.fee_owed).micros
        in_positions = worth + state.journal.flows_after(lens.block.number) - cash
        positions = _lens_positions(book, lens, keys)
        if sum(p.value for p in positions.values()) != in_positions:
            parts = shares({k: p.value or p.cost for k, p in book.opened.items()}, in_positions)
            positions = {k: fast_replace(book.opened[k], value=v) for k, v in parts.items()}
        if in_positions >= 0 and (positions or not in_positions):
            return _valued(cash, positions, lens.block.at)
    if book.seen is not None:
        return _valued(cash, book.opened, book.seen.at)
    return _estimated(state, cash)


def _counts(book: MeasuredBook, lens: VaultState) -> bool:
    older = book.seen is not None and lens.block.number < book.seen.block
    return lens.exists and lens.measured and not older


def _lens_positions(
    book: MeasuredBook, lens: VaultState, keys: Sequence[str]
) -> dict[str, MeasuredPosition]:
    """The open positions at the values of the vault's probes."""
    values: dict[str, int] = {}
    for key, value in zip(keys, lens.values, strict=False):
        values[key] = values.get(key, 0) + (ZERO if value is None else value).micros
    return {k: p for k, p in revalue(book.opened, values).items() if p.opened}


def _valued(cash: int, positions: Mapping[str, MeasuredPosition], at: datetime) -> Valuation:
    valued_positions = {
        k: ValuedPosition(position=p, value=p.value, source="chain_mark", marked_at=at)
        for k, p in positions.items()
    }
    worth = cash + sum(p.value for p in positions.values())
    return Valuation(worth=worth, cash=cash, source="chain_mark", positions=valued_positions)


def worth_as_observed(state: LedgerState) -> int | None:
    """Worth by the newest whole observation in the ledger, for historical figures; None where open
    positions have no observation, and before the first chain row. No agent's mark is in it.
    """
    book = state.measured
    if book.cash is None or (book.opened and book.seen is None):
        return None
    return book.cash + sum(p.value for p in book.opened.values())


def _estimated(state: LedgerState, cash: int) -> Valuation:
    valued_positions: dict[str, ValuedPosition] = {}
    for key, p in state.measured.opened.items():
        mark = agent_mark(state, key, p)
        valued_positions[key] = (
            ValuedPosition(position=p, value=p.value, source="cost")
            if mark is None
            else ValuedPosition(position=p, value=mark[0], source="agent_mark", marked_at=mark[1])
        )
    sources = {h.source for h in valued_positions.values()}
    weakest: Source = "agent_mark" if "agent_mark" in sources else "cost" if sources else "cash"
    worth = cash + sum(h.value for h in valued_positions.values())
    return Valuation(worth=worth, cash=cash, source=weakest, positions=valued_positions)


def agent_mark(state: LedgerState, key: str, p: MeasuredPosition) -> tuple[int, datetime] | None:
    """The agent's newest estimate of a position: of the whole, or of parts, the rest at cost."""
    position_mark = state.claimed.marks.get(key)
    parts = [t for t in state.claimed.parts.values() if t.of == key and t.marked_at is not None]
    newest = max((t.marked_at for t in parts if t.marked_at is not None), default=None)
    if newest is not None and (position_mark is None or newest > position_mark.at):
        at_cost = max(0, p.value - sum(t.cost for t in parts))
        return sum(t.value for t in parts) + at_cost, newest
    return None if position_mark is None else (position_mark.value, position_mark.at)


def valuation(snapshot: MandateSnapshot) -> Valuation:
    """The worth of this mandate's vault now; unknown while rows of it are missing."""
    if snapshot.mandate.differs_at is not None:
        return Valuation(worth=None, cash=None, source="cash", positions={})
    return valued(snapshot.state, snapshot.chain, snapshot.mandate.probe_keys)


def unmeasured(snapshot: MandateSnapshot) -> bool:
    """True where a probe did not answer: what is shown is an older observation, or cost."""
    chain, settled = snapshot.chain, snapshot.measured.settled is not None
    return not settled and chain is not None and chain.exists and not chain.measured


def at_risk(snapshot: MandateSnapshot) -> Usdc:
    """Cost of what is open now."""
    return Usdc(snapshot.measured.cost)


def cash(snapshot: MandateSnapshot) -> Usdc | None:
    """Chain cash out of the ledger; unknown while its rows are not all there."""
    return usdc(snapshot.measured.cash if snapshot.mandate.differs_at is None else None)


def usdc(micros: int | None) -> Usdc | None:
    """An amount that may be unknown."""
    return None if micros is None else Usdc(micros)


def worth(snapshot: MandateSnapshot) -> Usdc | None:
    """The vault's worth; None before the first chain row."""
    return usdc(valuation(snapshot).worth)


def positions_est(snapshot: MandateSnapshot) -> Usdc | None:
    """Worth less cash."""
    return usdc(valuation(snapshot).positions_est)


def realized(snapshot: MandateSnapshot) -> Usdc:
    """Result - fees - payouts (spec 2.6): as reported, until the vault's settlement replaces it."""
    return Usdc(realized_micros(snapshot.state))


def realized_micros(state: LedgerState) -> int:
    """`realized` of a ledger state, in micro-USDC."""
    book, c = state.measured, state.claimed
    result = c.resolved if book.settled is None else book.settled.returned - book.settled.spent
    return result - state.fees - book.payouts


def realized_source(snapshot: MandateSnapshot) -> Literal["claimed", "settled"]:
    """The origin of the result: reports, or the vault's settlement."""
    return "claimed" if snapshot.measured.settled is None else "settled"


def committed(snapshot: MandateSnapshot) -> Usdc:
    """Deposits - withdrawals."""
    return Usdc(snapshot.measured.deposits - snapshot.measured.withdrawals)


def agent_fee_reserved(snapshot: MandateSnapshot) -> Usdc | None:
    """The agent's fee if the mandate were settled now; None where its worth is unknown."""
    return fee_on(snapshot, valuation(snapshot))


def fee_on(snapshot: MandateSnapshot, at: Valuation) -> Usdc | None:
    """payout bps x max(0, worth - committed), rounded down; nothing more once it is settled."""
    if snapshot.measured.settled is not None:
        return Usdc(snapshot.measured.fee_owed)
    current_worth = usdc(at.worth)
    if current_worth is None:
        return None
    return max(ZERO, current_worth - committed(snapshot)).share_down(snapshot.mandate.payout_bps)


def floor_now(snapshot: MandateSnapshot) -> Usdc:
    """The floor that binds: in proportion to what is paid in of the budget, else the terms'."""
    return floor_at(snapshot.mandate, Usdc(snapshot.measured.deposits))


def floor_at(mandate: Mandate, deposited: Usdc) -> Usdc:
    """The floor of a mandate after deposits of `deposited`."""
    if deposited and deposited < mandate.budget_usdc:
        return deposited.share_down(10_000 - mandate.stop_floor_bps)
    return mandate.floor
