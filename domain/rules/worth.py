"""Worth: cash, positions, floor and the agent's fee, from the measured book."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from domain.facts import VaultState
from domain.ledger.books import Books
from domain.ledger.measured import Position, shares
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


def valued(books: Books, lens: VaultState | None = None) -> Valued:
    """What the vault is worth by the newest whole mark, else by the agent's marks, else at cost.

    Shapes: `lens` is the vault read at one block; a block that is newer than the ledger's mark. One
    with a silent probe is no whole mark: what was not measured is not nothing.
    Source: contract 5, "Worth".
    """
    m = books.measured
    cash, mark = m.cash, m.mark
    seen = lens if lens is not None and lens.exists and lens.measured else None
    if cash is None:
        return Valued(worth=None, cash=None, source="cash", positions={})
    if seen is not None and (mark is None or seen.block.number >= mark.block):
        held = seen.cash + seen.positions + seen.fee_owed
        after = books.journal.flows_after(seen.block.number)
        return _marked(books, held.micros + after, seen.block.at)
    if m.settled is not None:
        return Valued(worth=cash, cash=cash, source="cash", positions={})
    if mark is not None:
        return _marked(books, mark.worth + m.flows - mark.flows, mark.at)
    return _estimated(books, cash)


def _marked(books: Books, worth: int, at: datetime) -> Valued:
    cash = books.measured.cash or 0
    opened = books.measured.opened
    parts = shares({k: p.value or p.cost for k, p in opened.items()}, worth - cash)
    each = {
        k: Holding(position=p, value=parts[k], source="chain_mark", marked_at=at)
        for k, p in opened.items()
    }
    return Valued(worth=worth, cash=cash, source="chain_mark", positions=each)


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
    return valued(case.state, case.chain)


def unmeasured(case: Case) -> bool:
    """True where the vault was read and a probe of it did not answer, so that its worth is unknown
    now; what is shown rests on an older mark, or on cost.
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
