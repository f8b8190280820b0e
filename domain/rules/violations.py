"""Rules that a reported or executed action can break; breaking one flags the row, it never refuses
it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import urlsplit

from domain.ledger.events.event import Event, LedgerKind, NewEvent, Reporter
from domain.ledger.events.pairing import partner
from domain.ledger.events.payloads import (
    NOWHERE,
    AgentStatement,
    CallTarget,
    Executed,
    PaidFee,
    Payload,
    Unwound,
)
from domain.mandates.approvals import Approval
from domain.mandates.mandate import Mandate, Status
from domain.money import ZERO, Usdc, text
from domain.rules.caps import budget, daily_cap, pending_on, per_tx_cap, spent_on
from domain.rules.rule_codes import CLAUSE_OF
from domain.rules.snapshot import MandateSnapshot
from domain.rules.valuation import cash, floor_now, worth
from domain.times import day_of, timestamp
from domain.trading.venue_values import VENUE

SPENDING: Final = frozenset({LedgerKind.BUY, LedgerKind.MOVE})


ACTING: Final = frozenset({LedgerKind.BUY, LedgerKind.SELL, LedgerKind.MOVE})


CLOSED: Final = frozenset({Status.STOPPED, Status.SETTLED, Status.CANCELLED})


NAME_CHARS: Final = 128


CLOCKS_APART: Final = timedelta(seconds=15)  # a block may be stamped before the hour it was made


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """One broken rule with the numbers: what was allowed, used before, and attempted, and whose
    limit it is.
    """

    code: str
    allowed: Any = None
    used: Any = None
    attempted: Any = None
    bound_by: str = "mandate"

    def detail(self) -> dict[str, object]:
        """The numbers, with the clause."""
        return {
            "clause": int(CLAUSE_OF[self.code]),
            "allowed": self.allowed,
            "used": self.used,
            "attempted": self.attempted,
            "bound_by": self.bound_by,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Action:
    """One action as it is judged: with the chain's figures and time where a chain row has it.

    Units: `spent` left the vault or is claimed to have; `requested_amount` is the larger of it and
    the approved amount. `called` is None for a report without a chain row.
    """

    at: datetime
    spent: Usdc
    requested_amount: Usdc
    called: Executed | Unwound | None = None


def violations(
    snapshot: MandateSnapshot, event: NewEvent, same_tx: Sequence[Event] = ()
) -> list[BrokenRule]:
    """Every rule that a row breaks, as the mandate stood before it.

    Shapes: `same_tx` are the rows that already name its transaction, oldest first.
    Source: contract 5 (violation codes); equality passes. What the chain has told of is judged by
    the chain's facts, and only by what the vault does not enforce, at its own place in the chain;
    so both rows of a pair get the same verdict in either order.
    """
    is_by_agent = event.reported_by is Reporter.AGENT
    if event.kind not in ACTING:
        # Contract 3: whatever the agent reports while it has no say is flagged, money in it or not.
        status_rules = _status_rules(snapshot, event, _claimed(event)) if is_by_agent else []
        return [*_repeated(event, same_tx), *status_rules, *_paid_read(snapshot.mandate, event)]
    if not is_by_agent:
        return _unenforced(snapshot, event, None)
    if repeats := _repeated(event, same_tx):
        return repeats + _status_rules(snapshot, event, _claimed(event))
    twin = partner(event, same_tx)
    if twin is not None:
        return _unenforced(snapshot, event, twin)
    action = _claimed(event)
    return [
        *_status_rules(snapshot, event, action),
        *_amounts(snapshot, event, action),
        *_target(snapshot, event),
    ]


def _unenforced(snapshot: MandateSnapshot, event: NewEvent, twin: Event | None) -> list[BrokenRule]:
    """The rules that the vault does not enforce: acceptance, approval, the agent of the record, the
    agent's stricter policy, and a stop that only the record has.
    """
    action = _executed(event if twin is None else twin)
    if action is None or not isinstance(action.called, Executed):
        return []  # unwinding is what a closed vault is for
    broken_rules = []
    accepted, stopped = snapshot.mandate.accepted_at, snapshot.state.record_stop
    if accepted is None or action.at < accepted - CLOCKS_APART:
        broken_rules.append(BrokenRule("not_accepted"))
    if stopped is not None and action.at > stopped:
        broken_rules.append(BrokenRule("mandate_stopped", attempted=event.kind.value))
    if _is_other_agent(snapshot.mandate, action.called.agent):
        agent = (action.called.agent or "")[:NAME_CHARS]
        broken_rules.append(
            BrokenRule("agent_mismatch", snapshot.mandate.agent_address, None, agent)
        )
    broken_rules += [b for b in _caps(snapshot, action) if b.bound_by == "policy"]
    return broken_rules + _unapproved(snapshot, event, action, twin)


def _is_other_agent(mandate: Mandate, actor: str | None) -> bool:
    """True where the vault's agent is not the record's: an open mandate may be given to another."""
    own = mandate.agent_address
    return actor is not None and own is not None and actor.lower() != own.lower()


def outflow(event: NewEvent | Event) -> Usdc:
    """The USDC that an action takes out: 0 for a sale or a move in."""
    if event.kind not in SPENDING or event.amount_usdc is None or _came_in(event.content.body):
        return ZERO
    return event.amount_usdc


def _came_in(payload: Payload) -> bool:
    return isinstance(payload, AgentStatement) and payload.direction == "in"


def _repeated(event: NewEvent, same_tx: Sequence[Event]) -> list[BrokenRule]:
    """A second report of one transaction: of the same kind, or of another action."""
    if event.reported_by is not Reporter.AGENT or event.kind is LedgerKind.NOTE:
        return []
    acts = event.kind in ACTING
    is_repeat = any(
        e.reported_by is Reporter.AGENT and (e.kind is event.kind or (acts and e.kind in ACTING))
        for e in same_tx
    )
    return [BrokenRule("duplicate_tx", attempted=event.tx_hash)] if is_repeat else []


def _claimed(event: NewEvent) -> _Action:
    spent = outflow(event)
    return _Action(at=event.occurred_at, spent=spent, requested_amount=spent)


def _executed(chain: NewEvent | Event) -> _Action | None:
    called = chain.content.body
    if isinstance(called, Unwound):
        return _Action(at=chain.occurred_at, spent=ZERO, requested_amount=ZERO, called=called)
    if not isinstance(called, Executed):
        return None
    request = max(called.spent, called.approved) if called.spent else ZERO
    return _Action(
        at=chain.occurred_at, spent=called.spent, requested_amount=request, called=called
    )


def _status_rules(snapshot: MandateSnapshot, event: NewEvent, action: _Action) -> list[BrokenRule]:
    """The status rules that a report breaks: not accepted, stopped, ended or paused."""
    mandate, broken_rules = snapshot.mandate, []
    if mandate.accepted_at is None:
        broken_rules.append(BrokenRule("not_accepted"))
    closed = mandate.status in CLOSED
    if closed:
        broken_rules.append(BrokenRule("mandate_stopped", attempted=event.kind.value))
    if mandate.ended(action.at):
        ends = timestamp(mandate.ends_at) if mandate.ends_at else None
        broken_rules.append(BrokenRule("mandate_ended", ends, None, timestamp(action.at)))
    if mandate.paused and not closed:
        broken_rules.append(BrokenRule("mandate_paused", attempted=event.kind.value))
    return broken_rules


def _amounts(snapshot: MandateSnapshot, event: NewEvent, action: _Action) -> list[BrokenRule]:
    if not action.spent:
        return []
    broken_rules, day = _caps(snapshot, action), day_of(action.at)
    used = spent_on(snapshot, day) + pending_on(snapshot, day)
    if used + action.spent > daily_cap(snapshot):
        broken_rules.append(
            BrokenRule("over_daily_cap", str(daily_cap(snapshot)), str(used), str(action.spent))
        )
    if not broken_rules or broken_rules[-1].code != "over_budget":
        broken_rules += _over_cash(snapshot, event, action)
    at = worth(snapshot)
    if at is not None and snapshot.measured.deposits and at < floor_now(snapshot):
        broken_rules.append(
            BrokenRule("below_stop_line", str(floor_now(snapshot)), text(at), str(action.spent))
        )
    return broken_rules + _unapproved(snapshot, event, action, None)


def _caps(snapshot: MandateSnapshot, action: _Action) -> list[BrokenRule]:
    """The cap per action and the budget, of mandate or policy, whichever binds."""
    if not action.spent:
        return []
    broken_rules = []
    (cap, cap_by), (limit, by) = per_tx_cap(snapshot), budget(snapshot)
    if action.requested_amount > cap:
        broken_rules.append(
            BrokenRule("over_per_tx_cap", str(cap), None, str(action.requested_amount), cap_by)
        )
    if action.spent > limit:
        broken_rules.append(BrokenRule("over_budget", str(limit), None, str(action.spent), by))
    return broken_rules


def _over_cash(snapshot: MandateSnapshot, event: NewEvent, action: _Action) -> list[BrokenRule]:
    """Spend above the vault's cash, for a report without a transaction, which no chain row
    checks.
    """
    statement, reserved = event.content.body, cash(snapshot)
    if (
        event.tx_hash is not None
        or reserved is None
        or (isinstance(statement, AgentStatement) and statement.notional)
    ):
        return []
    if action.spent <= reserved or action.spent > budget(snapshot)[0]:
        return []
    return [BrokenRule("over_budget", str(reserved), None, str(action.spent))]


def _unapproved(
    snapshot: MandateSnapshot, event: NewEvent, action: _Action, twin: Event | None
) -> list[BrokenRule]:
    vault_keeps_approvals, asks = (
        bool(snapshot.mandate.approvals_on_chain),
        snapshot.mandate.approval_above_usdc,
    )
    if vault_keeps_approvals and action.called is not None:
        return []  # the vault took it, so it had the owner's signature
    if (
        not (vault_keeps_approvals or snapshot.switches.approval_gate)
        or asks is None
        or action.requested_amount <= asks
    ):
        return []
    if _approved(snapshot, event, action, twin):
        return []
    return [BrokenRule("approval_missing", str(asks), None, str(action.requested_amount))]


def _approved(
    snapshot: MandateSnapshot, event: NewEvent, action: _Action, twin: Event | None
) -> bool:
    """True where an item that the owner approved covers the action; one that an earlier execution
    used does not.

    An agent's report of an executed call gets the verdict of the chain's row, which used the item
    up.
    """
    if event.reported_by is Reporter.AGENT and twin is not None:
        return "approval_missing" not in twin.violation_codes
    target = _target_of(event)
    address, selector = (target.address or "").lower(), (target.selector or "").lower()
    # Calldata that was handed out before an item ran out may be sent as long as its reservation
    # lasts.
    grace = timedelta(seconds=snapshot.config.reservation_s)
    for item in snapshot.approvals:
        if item.status != "approved" or action.at >= item.expires_at + grace:
            continue
        if isinstance(action.called, Executed):
            fits = _is_of(item, action.called)
        else:
            own = [str(item.target.get(n) or "").lower() for n in ("address", "selector")]
            is_same = address in ("", own[0]) and selector in ("", own[1])
            fits = is_same and item.approve_amount_usdc >= action.requested_amount
        if fits:
            return True
    return False


def _is_of(item: Approval, called: Executed) -> bool:
    """True where the item is of this very call: its target, its calldata, its amount."""
    target = str(item.target.get("address") or "").lower()
    same_call = called.data_hash is not None and item.data_hash == called.data_hash.lower()
    same_place = target == (called.target.address or "").lower()
    return same_call and same_place and item.approve_amount_usdc == called.approved


def _target_of(event: NewEvent) -> CallTarget:
    statement = event.content.body
    return statement.target if isinstance(statement, AgentStatement) else NOWHERE


def _target(snapshot: MandateSnapshot, event: NewEvent) -> list[BrokenRule]:
    """A named target must be one of the terms'; a report that names none breaks nothing here."""
    mandate, target = snapshot.mandate, _target_of(event)
    if target.address:
        own = (
            mandate.vault_address is not None
            and target.address.lower() == mandate.vault_address.lower()
        )
        return [] if own else _listed(mandate, target.address, target.selector)
    if target.market and not _market_listed(mandate, target.market):
        return [BrokenRule("target_not_allowed", attempted={"market": target.market[:NAME_CHARS]})]
    return []


def _market_listed(mandate: Mandate, market: str) -> bool:
    markets = {t.market for t in mandate.allowed_targets}
    return market in markets or _at_venue(mandate, market) or _host_allowed(mandate, market)


def _at_venue(mandate: Mandate, market: str) -> bool:
    venues = [t for t in mandate.allowed_targets if t.kind == "venue"]
    return any(market == t.venue or market in t.symbols or not t.symbols for t in venues)


def notional(mandate: Mandate, target: CallTarget) -> bool:
    """True for an action at a venue or a paid host of the terms: no vault log will show it."""
    if target.address or not target.market:
        return False
    if target.market in {t.market for t in mandate.allowed_targets if t.kind == "contract"}:
        return False
    return _at_venue(mandate, target.market) or _host_allowed(mandate, target.market)


def ordered(mandate: Mandate, target: CallTarget) -> bool:
    """True for an action at the venue whose orders are made here: its fills report it too."""
    if not target.market or not notional(mandate, target) or _host_allowed(mandate, target.market):
        return False
    return any(
        target.market in (t.venue, *t.symbols) or not t.symbols
        for t in mandate.allowed_targets
        if t.kind == "venue" and t.venue == VENUE
    )


def _listed(mandate: Mandate, address: str, selector: str | None) -> list[BrokenRule]:
    """A contract entry for this address, and for this selector where one is named."""
    for t in mandate.allowed_targets:
        same = t.kind == "contract" and t.address and t.address.lower() == address.lower()
        if same and (selector is None or (t.selector or "").lower() == selector.lower()):
            return []
    name = {"address": address[:NAME_CHARS], "selector": (selector or "")[:NAME_CHARS] or None}
    return [BrokenRule("target_not_allowed", attempted=name)]


def _host_allowed(mandate: Mandate, host: str) -> bool:
    return any(
        t.kind == "x402" and (host in t.hosts if t.hosts else "." in host)
        for t in mandate.allowed_targets
    )


def _paid_read(mandate: Mandate, event: NewEvent) -> list[BrokenRule]:
    """A paid read goes to a host of the terms' x402 entries; an entry without hosts takes any."""
    fee = event.content.body
    if not isinstance(fee, PaidFee) or not fee.paid_read or fee.resource is None:
        return []
    resource = fee.resource
    try:
        at = urlsplit(resource) if "//" in resource else None
        # A host that the terms name with a port is held to it, one without takes any.
        port = None if at is None else at.port or {"http": 80}.get(at.scheme, 443)
        hosts = set() if at is None else {at.hostname, f"{at.hostname}:{port}"}
    except ValueError:
        hosts = set()
    entries = [t for t in mandate.allowed_targets if t.kind == "x402"]
    if any(not t.hosts or not hosts.isdisjoint(t.hosts) for t in entries):
        return []
    return [BrokenRule("target_not_allowed", attempted={"resource": resource[:NAME_CHARS]})]


def with_violation(event: NewEvent, broken: list[BrokenRule]) -> Mapping[str, object]:
    """The payload with its `violation` block (spec 2.4 rule 2)."""
    if not broken:
        return event.payload
    return {
        **event.payload,
        "violation": {
            "codes": [b.code for b in broken],
            "detail": {b.code: b.detail() for b in broken},
        },
    }
