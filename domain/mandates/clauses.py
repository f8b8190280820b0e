"""The ten clauses: a plain sentence for each term, and the party that enforces it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from domain.mandates.mandate import ClauseKey, Mandate
from domain.mandates.purses import PARTS, PurseTerms
from domain.mandates.targets import (
    VENUE,
    EnforcedBy,
    EnforcedTarget,
    Target,
)
from domain.money import Usdc
from domain.settings import Switches
from domain.text import format_usdc
from domain.times import Timestamp, format_minute


@dataclass(frozen=True, slots=True, kw_only=True)
class AmountOf:
    """Budget and cap per action."""

    amount: Usdc


@dataclass(frozen=True, slots=True, kw_only=True)
class DayAmount:
    """The cap per day, and when the day begins anew."""

    amount: Usdc
    resets: Literal["00:00 UTC"] = "00:00 UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class StopLine:
    """The floor, and what of the budget it leaves to be lost."""

    amount: Usdc
    pct: str
    bps: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketsAllowed:
    """Every entry that the agent may deal with."""

    items: tuple[EnforcedTarget, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskAbove:
    """Above which amount the owner is asked; null where the agent acts on its own."""

    amount: Usdc | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OnFloor:
    """The treatment of open positions at the stop line."""

    on_floor: Literal["keep", "close"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """The duration of the mandate; `ends_at` is exclusive, and null before the signature."""

    days: int
    ends_at: Timestamp | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FeeShare:
    """The agent's share of the measured gain."""

    pct: str
    bps: int
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LockDays:
    """The longest that open positions can hold a withdrawal back."""

    days: int = 3


ClauseParams = (
    AmountOf
    | DayAmount
    | StopLine
    | MarketsAllowed
    | AskAbove
    | OnFloor
    | Period
    | FeeShare
    | LockDays
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One clause (spec 2.3). `n` and `key` never change their meaning; `source` is the first of
    the signed fields.
    """

    n: int
    key: str
    text_en: str
    params: ClauseParams
    enforced_by: EnforcedBy
    source: str
    signed_fields: tuple[str, ...]
    status: Literal["enforced", "stored_pending"] = "enforced"


def _clause(
    key: ClauseKey,
    text: str,
    params: ClauseParams,
    *fields: str,
    by: EnforcedBy = "Contract",
    waits: bool = False,
) -> Clause:
    return Clause(
        n=int(key),
        key=key.key,
        text_en=text,
        params=params,
        enforced_by=by,
        source=fields[0],
        signed_fields=fields,
        status="stored_pending" if waits else "enforced",
    )


def percent(bps: int) -> str:
    """Ten-thousandths as a percentage for a sentence."""
    units, hundredths = divmod(bps, 100)
    return f"{units}.{hundredths:02d}".rstrip("0").rstrip(".") + "%"


def _target_phrase(t: Target) -> str:
    if t.kind == "vault":
        return "the vault itself"
    if t.kind == "x402":
        # A host is the drafter's text: only the entry shows it, where the schema marks it as such.
        return "paid reads (x402)" + (f" at named hosts ({len(t.hosts)})" if t.hosts else "")
    if t.kind == "venue":
        if t.label or t.venue != VENUE:
            return t.label or "markets of a venue that this service does not know"
        count = len(t.symbols)
        unknown_products = f"{count} products that this service does not know"
        return f"{VENUE}: {unknown_products if count else 'every market'}"
    return t.label or f"{t.address} {t.selector} (a call that this service does not know)"


def _purse_phrase(mandate: Mandate, t: Target, purse: PurseTerms) -> str:
    """Paid services out of the purse: its hub holds them to the amounts and payees, and this
    service to the hosts.
    """
    amounts = (
        purse.per_payment(mandate.per_tx_cap),
        purse.per_day(mandate.daily_cap),
        purse.float_limit(mandate.daily_cap),
    )
    payment, day, at_once = (format_usdc(str(amount)) for amount in amounts)
    to = f"to named payees ({len(purse.payees)})" if purse.payees else "to anybody"
    hosts = f"; this service holds them to named hosts ({len(t.hosts)})" if t.hosts else ""
    return (
        f"paid services (x402), each bill signed by the agent's own key: at most {payment} a "
        f"payment, {day} a day, {at_once} at risk at once, {to}{hosts}"
    )


def _phrases(mandate: Mandate) -> Iterator[str]:
    purse = mandate.purse
    for t in mandate.allowed_targets:
        if t.purse is not None:
            yield _purse_phrase(mandate, t, t.purse)
        elif purse is None or t.kind != "contract" or t.address != purse.hub:
            yield _target_phrase(t)


def enforcer(t: Target) -> EnforcedBy:
    """The enforcer of one entry (contract 3): the purse's hub for what is paid out of it; this
    service for the other paid reads and the venue orders that it prepares itself; a venue of the
    operator's markets list for its own markets. At a venue that is in no list, all that holds is
    that this service prepares nothing there.
    """
    if t.kind in ("contract", "vault") or t.purse is not None:
        return "Contract"
    listed = t.kind == "venue" and t.venue != VENUE and t.label
    return "Venue" if listed else "Service guard"


def _amounts(mandate: Mandate) -> Iterator[Clause]:
    budget, cap, day = mandate.budget_usdc, mandate.per_tx_cap, mandate.daily_cap
    yield _clause(
        ClauseKey.BUDGET,
        f"At most {format_usdc(str(budget))} of yours is ever in the vault.",
        AmountOf(amount=budget),
        "budgetUsdc",
    )
    yield _clause(
        ClauseKey.PER_ACTION,
        f"No single action takes more than {format_usdc(str(cap))} out of the vault.",
        AmountOf(amount=cap),
        "perTxCap",
    )
    yield _clause(
        ClauseKey.PER_DAY,
        f"All actions of a UTC day together take at most {format_usdc(str(day))} out; "
        "it resets at 00:00 UTC, so that two days' amounts can meet at midnight.",
        DayAmount(amount=day),
        "dailyCap",
    )
    floor, bps = mandate.floor, mandate.stop_floor_bps
    yield _clause(
        ClauseKey.STOP_LINE,
        f"The agent's calls may not bring the vault below {format_usdc(str(floor))}, "
        f"a loss of {percent(bps)} of the budget.",
        StopLine(amount=floor, pct=percent(bps), bps=bps),
        "stopFloor",
        "stopFloorBps",
    )


def _markets(mandate: Mandate) -> Clause:
    targets = mandate.allowed_targets
    phrases = ", ".join(dict.fromkeys(_phrases(mandate))) or "nothing at all"
    # A clause is as strong as its weakest entry: no vault stands behind one at a venue.
    at = [enforcer(t) for t in targets if t.kind == "venue"]
    return _clause(
        ClauseKey.MARKETS,
        f"The agent may only deal with: {phrases}.",
        MarketsAllowed(items=tuple(t.as_enforced(enforcer(t)) for t in targets)),
        "allowedTargetsHash",
        "guardTargetsHash",
        by="Venue" if "Venue" in at else "Service guard" if at else "Contract",
    )


def _approval(mandate: Mandate, switches: Switches) -> Clause:
    above, by_vault = mandate.approval_above_usdc, bool(mandate.approvals_on_chain)
    if above is None:
        sentence = "The agent acts on its own inside these limits."
    elif by_vault:
        sentence = (
            f"Above {format_usdc(str(above))} the vault takes an action only with your signature "
            "over that very action, once."
        )
    else:
        sentence = (
            f"Above {format_usdc(str(above))} the service prepares no action before you "
            "approve it; an action sent past the service is flagged."
        )
    return _clause(
        ClauseKey.ASKING,
        sentence,
        AskAbove(amount=above),
        "approvalAbove",
        by="Contract" if by_vault else "Service guard",
        # No switch of the service turns off the vault's own approval rule.
        waits=not (by_vault or switches.approval_gate),
    )


def _ends(mandate: Mandate, *, closing_waits: bool) -> Iterator[Clause]:
    yield _clause(
        ClauseKey.AT_STOP,
        "At the stop line the mandate stops and open positions are kept for you to decide."
        if mandate.on_floor == "keep"
        else "At the stop line the mandate stops and the keeper closes open positions.",
        OnFloor(on_floor=mandate.on_floor),
        "onFloor",
        by="Service guard",
        waits=closing_waits,
    )
    until = f"until {format_minute(mandate.ends_at)}" if mandate.ends_at else "from your signature"
    yield _clause(
        ClauseKey.PERIOD,
        f"The mandate lasts {mandate.horizon_days} days, {until}.",
        Period(days=mandate.horizon_days, ends_at=mandate.ends_at),
        "endsAt",
        "horizonDays",
        "issuedAt",
    )
    fee = percent(mandate.payout_bps)
    yield _clause(
        ClauseKey.AGENT_FEE,
        f"The agent earns {fee} of the gain that the vault measured, "
        "once, at settlement, rounded down."
        if mandate.payout_bps
        else "The agent earns no fee.",
        FeeShare(pct=fee, bps=mandate.payout_bps, kind=mandate.payout_kind),
        "agentFeeBps",
    )
    yield _clause(
        ClauseKey.YOUR_FLOORS,
        "You can pause, stop and withdraw at any time; open positions can hold a withdrawal back "
        "for at most 3 days after the mandate is closed. Only the agent of these terms acts.",
        LockDays(),
        "owner",
        "agent",
        "nonce",
    )


# The term behind each clause: a term that a note leaves open has no sentence yet.
_SAYS: Final = (
    "budget_usdc", "per_tx_cap_usdc", "daily_cap_usdc", "stop_floor_bps", "allowed_targets",
    "approval_above_usdc", "on_floor", "horizon_days", "payout_rule", None,
)  # fmt: skip


# What a note leaves open of payments for web services is open in the clause of places to act.
_PART_OF: Final = dict.fromkeys(PARTS, "allowed_targets")


def clauses(
    mandate: Mandate, switches: Switches, *, keeper_key: bool = False
) -> tuple[Clause, ...]:
    """The ten clauses in order (spec 2.3), but those of unclear terms; 7 waits for the key."""
    needs_key = mandate.closes_at_venue and not keeper_key
    every = (
        *_amounts(mandate),
        _markets(mandate),
        _approval(mandate, switches),
        *_ends(mandate, closing_waits=switches.stop_line_dry_run or needs_key),
    )
    said = zip(_SAYS, every, strict=True)
    unclear = {_PART_OF.get(term, term) for term in mandate.unclear_terms}
    return tuple(clause for term, clause in said if term not in unclear)
