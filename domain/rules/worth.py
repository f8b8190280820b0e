"""Worth: cash, positions, floor and the agent's fee, from the measured book."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from domain.facts import VaultState
from domain.ledger.books import Books
from domain.ledger.copies import changed
from domain.ledger.measured import Measured
from domain.ledger.positions import Position, revalued, shares
from domain.mandates.mandate import Mandate
from domain.money import ZERO, Usdc
from domain.rules.case import Case

Source = Literal["chain_mark", "agent_mark", "cost", "cash"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """An open position, and what it is worth by what."""

    position: Position
    value: int
    source: Source
    marked_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Valued:
    """Worth, and the weakest thing it rests on; micro-USDC, None before the first chain row.

    Shapes: `positions` are the open ones with what each is worth in it.
    """

    worth: int | None
    cash: int | None
    source: Source
    positions: Mapping[str, Holding]

    @property
    def positions_est(self) -> int | None:
        """Worth less cash."""
        return None if self.worth is None or self.cash is None else self.worth - self.cash


def valued(books: Books, lens: VaultState | None = None, keys: Sequence[str] = ()) -> Valued:
    """Cash, positions and worth out of one observation: what the vault's probes said at one block,
    with the flows after it; before the first, by the agent's marks, else at cost.

    Shapes: `lens` is the vault read at one block, `keys` are those of its probes in their order. It
    counts where every probe answered and it is no older than the ledger's newest observation. Where
    it knows movements that the ledger does not tell of yet, its worth stands beside the ledger's
    cash, and what is open has the rest.
    Source: contract 5, "Worth".
    """
    m = books.measured
    cash = m.cash
    if cash is None:
        return Valued(worth=None, cash=None, source="cash", positions={})
    if lens is not None and _counts(m, lens):
        worth = (lens.cash + lens.positions + lens.fee_owed).micros
        rest = worth + books.journal.flows_after(lens.block.number) - cash
        positions = _by_lens(m, lens, keys)
        if sum(p.value for p in positions.values()) != rest:
            parts = shares({k: p.value or p.cost for k, p in m.opened.items()}, rest)
            positions = {k: changed(m.opened[k], value=v) for k, v in parts.items()}
        if rest >= 0 and (positions or not rest):
            return _valued(cash, positions, lens.block.at)
    if m.seen is not None:
        return _valued(cash, m.opened, m.seen.at)
    return _estimated(books, cash)


def _counts(m: Measured, lens: VaultState) -> bool:
    older = m.seen is not None and lens.block.number < m.seen.block
    return lens.exists and lens.measured and not older


def _by_lens(m: Measured, lens: VaultState, keys: Sequence[str]) -> dict[str, Position]:
    """The open positions at what the vault's probes say."""
    values: dict[str, int] = {}
    for key, value in zip(keys, lens.values, strict=False):
        values[key] = values.get(key, 0) + (ZERO if value is None else value).micros
    return {k: p for k, p in revalued(m.opened, values).items() if p.opened}


def _valued(cash: int, positions: Mapping[str, Position], at: datetime) -> Valued:
    each = {
        k: Holding(position=p, value=p.value, source="chain_mark", marked_at=at)
        for k, p in positions.items()
    }
    worth = cash + sum(p.value for p in positions.values())
    return Valued(worth=worth, cash=cash, source="chain_mark", positions=each)


def worth_as_observed(books: Books) -> int | None:
    """Worth by the newest whole observation in the ledger, for everything that looks back; None
    where positions are open that nobody has valued, and before the first chain row. No agent's mark
    is in it.
    """
    m = books.measured
    if m.cash is None or (m.opened and m.seen is None):
        return None
    return m.cash + sum(p.value for p in m.opened.values())


def _estimated(books: Books, cash: int) -> Valued:
    each: dict[str, Holding] = {}
    for key, p in books.measured.opened.items():
        told = agent_mark(books, key, p)
        each[key] = (
            Holding(position=p, value=p.value, source="cost")
            if told is None
            else Holding(position=p, value=told[0], source="agent_mark", marked_at=told[1])
        )
    sources = {h.source for h in each.values()}
    weakest: Source = "agent_mark" if "agent_mark" in sources else "cost" if sources else "cash"
    worth = cash + sum(h.value for h in each.values())
    return Valued(worth=worth, cash=cash, source=weakest, positions=each)


def agent_mark(books: Books, key: str, p: Position) -> tuple[int, datetime] | None:
    """What the agent says that a position is worth: its newest mark of the whole, or its marks of
    parts with the rest at cost; the newer of the two.
    """
    whole = books.claimed.marks.get(key)
    parts = [t for t in books.claimed.parts.values() if t.of == key and t.marked_at is not None]
    newest = max((t.marked_at for t in parts if t.marked_at is not None), default=None)
    if newest is not None and (whole is None or newest > whole.at):
        rest = max(0, p.value - sum(t.cost for t in parts))
        return sum(t.value for t in parts) + rest, newest
    return None if whole is None else (whole.value, whole.at)


def valuation(case: Case) -> Valued:
    """What this mandate's vault is worth now; unknown while rows of it are missing."""
    if case.mandate.differs_at is not None:
        return Valued(worth=None, cash=None, source="cash", positions={})
    return valued(case.state, case.chain, case.mandate.probe_keys)


def unmeasured(case: Case) -> bool:
    """True where the vault was read and a probe of it did not answer, so that its worth is unknown
    now; what is shown rests on an older observation, or on cost.
    """
    chain, settled = case.chain, case.measured.settled is not None
    return not settled and chain is not None and chain.exists and not chain.measured


def at_risk(case: Case) -> Usdc:
    """Cost of what is open now."""
    return Usdc(case.measured.cost)


def cash(case: Case) -> Usdc | None:
    """Chain cash out of the ledger; unknown while its rows are not all there."""
    return usdc(case.measured.cash if case.mandate.differs_at is None else None)


def usdc(micros: int | None) -> Usdc | None:
    """An amount that may be unknown."""
    return None if micros is None else Usdc(micros)


def worth(case: Case) -> Usdc | None:
    """What the vault is worth; None before the first chain row."""
    return usdc(valuation(case).worth)


def positions_est(case: Case) -> Usdc | None:
    """Worth less cash."""
    return usdc(valuation(case).positions_est)


def realized(case: Case) -> Usdc:
    """Result - fees - payouts (spec 2.6): the reported results, until the vault's settlement
    replaces them.
    """
    return Usdc(realized_micros(case.state))


def realized_micros(books: Books) -> int:
    """The same of two books, in micro-USDC."""
    m, c = books.measured, books.claimed
    result = c.resolved if m.settled is None else m.settled.returned - m.settled.spent
    return result - c.fees - m.payouts


def realized_source(case: Case) -> Literal["claimed", "settled"]:
    """Whose result it is."""
    return "claimed" if case.measured.settled is None else "settled"


def committed(case: Case) -> Usdc:
    """Deposits - withdrawals."""
    return Usdc(case.measured.deposits - case.measured.withdrawals)


def agent_fee_reserved(case: Case) -> Usdc | None:
    """What the agent's fee would be now."""
    return fee_on(case, valuation(case))


def fee_on(case: Case, at: Valued) -> Usdc | None:
    """payout bps x max(0, worth - committed), rounded down; nothing more once it is settled."""
    if case.measured.settled is not None:
        return Usdc(case.measured.fee_owed)
    whole = usdc(at.worth)
    if whole is None:
        return None
    return max(ZERO, whole - committed(case)).share_down(case.mandate.payout_bps)


def floor_now(case: Case) -> Usdc:
    """The floor that binds: the vault's, in proportion while the budget is not fully paid in, else
    the terms'.
    """
    return floor_at(case.mandate, Usdc(case.measured.deposits))


def floor_at(m: Mandate, deposited: Usdc) -> Usdc:
    """The same of a mandate into which `deposited` was paid."""
    if deposited and deposited < m.budget_usdc:
        return deposited.share_down(10_000 - m.stop_floor_bps)
    return m.floor
