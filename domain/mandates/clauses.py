"""The ten clauses: plain sentences for each term, with who enforces them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from domain.mandates.mandate import ClauseKey, Mandate
from domain.mandates.targets import Target
from domain.money import Usdc
from domain.settings import Switches
from domain.times import timestamp

EnforcedBy = Literal["Contract", "Service guard", "Venue"]


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause (spec 2.3)."""

    key: ClauseKey
    text_en: str
    params: Mapping[str, Any]
    enforced_by: EnforcedBy
    signed_fields: tuple[str, ...]
    status: Literal["enforced", "stored_pending"] = "enforced"

    def as_json(self) -> dict[str, Any]:
        """Shape `{n, key, text_en, params, enforced_by, source, signed_fields, status}`."""
        return {
            "n": int(self.key),
            "key": self.key.key,
            "text_en": self.text_en,
            "params": dict(self.params),
            "enforced_by": self.enforced_by,
            "source": self.signed_fields[0],
            "signed_fields": list(self.signed_fields),
            "status": self.status,
        }


def plain(amount: Usdc) -> str:
    """An amount for a sentence: two decimals, or as many as it has."""
    text = str(amount)
    return text[:-4] if text.endswith("0000") else text.rstrip("0")


def percent(bps: int) -> str:
    """Ten-thousandths as a percentage for a sentence."""
    whole, rest = divmod(bps, 100)
    return f"{whole}.{rest:02d}".rstrip("0").rstrip(".") + "%"


def _budget(m: Mandate, _: Switches) -> Clause:
    return Clause(
        ClauseKey.BUDGET,
        f"At most {plain(m.budget_usdc)} USDC of yours is ever in the vault.",
        {"amount": str(m.budget_usdc)},
        "Contract",
        ("budgetUsdc",),
    )


def _per_action(m: Mandate, _: Switches) -> Clause:
    return Clause(
        ClauseKey.PER_ACTION,
        f"No single action takes more than {plain(m.per_tx_cap)} USDC out of the vault.",
        {"amount": str(m.per_tx_cap)},
        "Contract",
        ("perTxCap",),
    )


def _per_day(m: Mandate, _: Switches) -> Clause:
    return Clause(
        ClauseKey.PER_DAY,
        f"All actions of a UTC day together take at most {plain(m.daily_cap)} USDC out; it resets at 00:00 UTC, "
        "so that two days' amounts can meet at midnight.",
        {"amount": str(m.daily_cap), "resets": "00:00 UTC"},
        "Contract",
        ("dailyCap",),
    )


def _stop_line(m: Mandate, _: Switches) -> Clause:
    return Clause(
        ClauseKey.STOP_LINE,
        f"The agent's calls may not bring the vault below {plain(m.floor)} USDC, "
        f"a loss of {percent(m.stop_floor_bps)} of the budget.",
        {"amount": str(m.floor), "pct": percent(m.stop_floor_bps), "bps": m.stop_floor_bps},
        "Contract",
        ("stopFloor", "stopFloorBps"),
    )


def _place(t: Target) -> str:
    if t.kind == "vault":
        return "the vault itself"
    if t.kind == "x402":
        return "paid reads (x402)" + (f" at {', '.join(t.hosts)}" if t.hosts else "")
    if t.kind == "venue":
        return t.label or f"{t.venue}: {', '.join(t.symbols) or 'every market'}"
    return t.label or f"{t.address} {t.selector}"


def enforcer(t: Target) -> EnforcedBy:
    """Who holds the agent to one entry (contract 3)."""
    return {"contract": "Contract", "vault": "Contract", "x402": "Service guard", "venue": "Venue"}[
        t.kind
    ]  # type: ignore[return-value]  # the four kinds


def _markets(m: Mandate, _: Switches) -> Clause:
    places = [_place(t) for t in m.allowed_targets]
    items = [t.as_json() | {"enforced_by": enforcer(t)} for t in m.allowed_targets]
    named = ", ".join(dict.fromkeys(places)) or "nothing at all"
    return Clause(
        ClauseKey.MARKETS,
        f"The agent may only deal with: {named}.",
        {"items": items},
        "Contract",
        ("allowedTargetsHash", "guardTargetsHash"),
    )


def _asking(m: Mandate, switches: Switches) -> Clause:
    above = m.approval_above_usdc
    sentence = (
        "The agent acts on its own inside these limits."
        if above is None
        else f"Above {plain(above)} USDC the service hands out no calldata before you approve; an action sent past the "
        "service is flagged."
    )
    return Clause(
        ClauseKey.ASKING,
        sentence,
        {"amount": None if above is None else str(above)},
        "Service guard",
        ("approvalAbove",),
        "enforced" if switches.approval_gate else "stored_pending",
    )


def _at_stop(m: Mandate, switches: Switches) -> Clause:
    keep = m.on_floor == "keep"
    sentence = (
        "At the stop line the mandate stops and open positions are kept for you to decide."
        if keep
        else "At the stop line the mandate stops and the keeper closes open positions."
    )
    status: Literal["enforced", "stored_pending"] = (
        "stored_pending" if switches.stop_line_dry_run else "enforced"
    )
    return Clause(
        ClauseKey.AT_STOP, sentence, {"on_floor": m.on_floor}, "Service guard", ("onFloor",), status
    )


def _period(m: Mandate, _: Switches) -> Clause:
    ends = timestamp(m.ends_at) if m.ends_at else None
    until = f"until {ends}, exclusive" if ends else "from your signature"
    return Clause(
        ClauseKey.PERIOD,
        f"The mandate lasts {m.horizon_days} days, {until}.",
        {"days": m.horizon_days, "ends_at": ends},
        "Contract",
        ("endsAt", "horizonDays", "issuedAt"),
    )


def _agent_fee(m: Mandate, _: Switches) -> Clause:
    return Clause(
        ClauseKey.AGENT_FEE,
        f"The agent earns {percent(m.payout_bps)} of the gain that the vault measured, once, at settlement, rounded down."
        if m.payout_bps
        else "The agent earns no fee.",
        {"pct": percent(m.payout_bps), "bps": m.payout_bps, "kind": m.payout_kind},
        "Contract",
        ("agentFeeBps",),
    )


def _your_floors(m: Mandate, _: Switches) -> Clause:
    return Clause(
        ClauseKey.YOUR_FLOORS,
        "You can pause, stop and withdraw at any time; open positions can hold a withdrawal back for at most 3 days after "
        "the mandate is closed. Only the agent of these terms acts.",
        {"days": 3},
        "Contract",
        ("owner", "agent", "nonce"),
    )


CLAUSES: Final[tuple[Callable[[Mandate, Switches], Clause], ...]] = (
    _budget,
    _per_action,
    _per_day,
    _stop_line,
    _markets,
    _asking,
    _at_stop,
    _period,
    _agent_fee,
    _your_floors,
)


def clauses(mandate: Mandate, switches: Switches) -> list[dict[str, Any]]:
    """The ten clauses in their order (spec 2.3)."""
    return [clause(mandate, switches).as_json() for clause in CLAUSES]


def card_header(mandate: Mandate) -> dict[str, Any]:
    """What stands above the clauses: who, how much, until when."""
    agent = mandate.agent_name or mandate.agent_id
    who = agent or ("any agent that accepts it" if mandate.open_board else "an agent to be named")
    return {
        "title": f"{plain(mandate.budget_usdc)} USDC for {who}",
        "purpose": mandate.purpose,
        "budget_usdc": str(mandate.budget_usdc),
        "agent_id": mandate.agent_id,
        "agent_name": mandate.agent_name,
        "chain_id": mandate.chain_id,
        "horizon_days": mandate.horizon_days,
        "ends_at": timestamp(mandate.ends_at) if mandate.ends_at else None,
    }


def card_footer(mandate: Mandate) -> dict[str, Any]:
    """What stands below them: what a signature does, and what nobody promises."""
    return {
        "lines": [
            "Your signature moves no money. You create the vault, fund it and can leave it with your own wallet.",
            "The service holds no custody of your funds and cannot widen these terms.",
            "A budget can be lost down to the stop line, and further where a market fails in one step.",
        ],
        "vault_address": mandate.vault_address,
        "signed": mandate.signed is not None,
    }
