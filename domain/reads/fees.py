"""Fees by class, and the two nets that are never summed."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, Literal

from domain.money import Usdc
from domain.rules.snapshot import MandateSnapshot
from domain.rules.valuation import Source, committed, fee_on, realized, usdc, valuation
from domain.wire_fields import described

TWO_DECIMALS: Final = described("USDC, 2 decimals, half away from zero")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unclassified:
    """Fees that the agent gave no kind."""

    amount: Usdc
    count: int
    source: Literal["agent"] = "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFee:
    """The agent's share of the gain: reserved by the newest estimate, and paid."""

    reserved_est: Usdc | None
    paid: Usdc
    paid_source: Literal["chain"] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NetEstimated:
    """The remainder after fees by the newest estimate of worth."""

    value: Decimal | None = field(metadata=TWO_DECIMALS)
    est: Literal[True] = True
    source: Source
    pct: Decimal | None = field(metadata=described("percent of what was committed, 2 decimals"))
    formula: str = "worth_est - committed - agent_fee_reserved"


@dataclass(frozen=True, slots=True, kw_only=True)
class NetRealized:
    """The realized gain after every fee."""

    value: Decimal = field(metadata=TWO_DECIMALS)
    est: Literal[False] = False
    formula: str = "resolve - fees - payouts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fees:
    """Fees by class; an unclassified one is never folded into venue (spec 2.8)."""

    tools: Usdc
    venue: Usdc
    network: Usdc
    unclassified: Unclassified
    agent_fee: AgentFee
    realized_total: Usdc
    net_after_fees_est: NetEstimated
    net_after_fees_realized: NetRealized


def cents(amount: Usdc) -> Decimal:
    """An amount with 2 decimals, half away from zero (spec 2.1: some derived fee figures)."""
    rounded = (abs(amount.micros) + 5_000) // 10_000
    return Decimal(-rounded if amount.micros < 0 else rounded).scaleb(-2)


def share(part: Usdc, total: Usdc) -> Decimal | None:
    """part / whole in percent with 2 decimals; None of nothing."""
    if total.micros <= 0:
        return None
    return (Decimal(part.micros) * 100 / Decimal(total.micros)).quantize(Decimal("0.01"))


def fees(snapshot: MandateSnapshot) -> Fees:
    """Fees by class and what is left after them."""
    claimed, payouts = snapshot.state.claimed, Usdc(snapshot.measured.payouts)
    at, put_in = valuation(snapshot), committed(snapshot)
    current_worth, reserve = usdc(at.worth), fee_on(snapshot, at)
    net = None if current_worth is None or reserve is None else current_worth - put_in - reserve
    return Fees(
        tools=Usdc(snapshot.state.fee_tools),
        venue=Usdc(claimed.fee_venue),
        network=Usdc(claimed.fee_network),
        unclassified=Unclassified(
            amount=Usdc(claimed.fee_unclassified), count=claimed.fee_unclassified_count
        ),
        agent_fee=AgentFee(
            reserved_est=reserve,
            paid=payouts,
            paid_source="chain" if payouts else None,
        ),
        realized_total=Usdc(snapshot.state.fees) + payouts,
        net_after_fees_est=NetEstimated(
            value=None if net is None else cents(net),
            source=at.source,
            pct=None if net is None else share(net, put_in),
        ),
        net_after_fees_realized=NetRealized(value=cents(realized(snapshot))),
    )
