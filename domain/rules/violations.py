"""Rules that a reported or executed action can break; breaking one flags the row, it never refuses
it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import urlsplit

from domain.ledger.events import Event, Kind, NewEvent, Reporter
from domain.ledger.pairing import partner
from domain.ledger.payloads import (
    NOWHERE,
    Executed,
    PaidFee,
    Payload,
    Place,
    Said,
    Unwound,
)
from domain.mandates.approvals import Approval
from domain.mandates.mandate import Mandate, Status
from domain.money import ZERO, Usdc, text
from domain.rules.caps import budget, daily_cap, pending_on, per_tx_cap, spent_on
from domain.rules.case import Case
from domain.rules.codes import CLAUSE_OF
from domain.rules.worth import cash, floor_now, worth
from domain.times import day_of, timestamp
from domain.trading.venue import VENUE

SPENDING: Final = frozenset({Kind.BUY, Kind.MOVE})


ACTING: Final = frozenset({Kind.BUY, Kind.SELL, Kind.MOVE})


CLOSED: Final = frozenset({Status.STOPPED, Status.SETTLED, Status.CANCELLED})


NAME_CHARS: Final = 128


CLOCKS_APART: Final = timedelta(seconds=15)  # a block may be stamped before the hour it was made


@dataclass(frozen=True, slots=True)
class Broken:
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
    """One action as it is judged: with the chain's figures and time where the chain has told of it.

    Units: `spent` left the vault or is claimed to have; `asked` is the larger of it and the
    approved amount. `called` is None for what only an agent tells.
    """

    at: datetime
    spent: Usdc
    asked: Usdc
    called: Executed | Unwound | None = None


def violations(case: Case, event: NewEvent, same_tx: Sequence[Event] = ()) -> list[Broken]:
    """Every rule that a row breaks, as the mandate stood before it.

    Shapes: `same_tx` are the rows that already name its transaction, oldest first.
    Source: contract 5 (violation codes); equality passes. What the chain has told of is judged by
    the chain's facts, and only by what the vault does not enforce, at its own place in the chain;
    so both rows of a pair get the same verdict in either order.
    """
    by_agent = event.reported_by is Reporter.AGENT
    if event.kind not in ACTING:
        # Contract 3: whatever the agent reports while it has no say is flagged, money in it or not.
        told = _standing(case, event, _claimed(event)) if by_agent else []
        return [*_repeated(event, same_tx), *told, *_paid_read(case.mandate, event)]
    if not by_agent:
        return _unenforced(case, event, None)
    if again := _repeated(event, same_tx):
        return again + _standing(case, event, _claimed(event))
    twin = partner(event, same_tx)
    if twin is not None:
        return _unenforced(case, event, twin)
    action = _claimed(event)
    return [*_standing(case, event, action), *_amounts(case, event, action), *_target(case, event)]


def _unenforced(case: Case, event: NewEvent, twin: Event | None) -> list[Broken]:
    """What the vault does not see: acceptance, approval, who the record says is agent, the agent's
    stricter policy, and a stop that only the record knows.
    """
    action = _executed(event if twin is None else twin)
    if action is None or not isinstance(action.called, Executed):
        return []  # unwinding is what a closed vault is for
    found = []
    accepted, stopped = case.mandate.accepted_at, case.state.record_stop
    if accepted is None or action.at < accepted - CLOCKS_APART:
        found.append(Broken("not_accepted"))
    if stopped is not None and action.at > stopped:
        found.append(Broken("mandate_stopped", attempted=event.kind.value))
    if _another(case.mandate, action.called.agent):
        agent = (action.called.agent or "")[:NAME_CHARS]
        found.append(Broken("agent_mismatch", case.mandate.agent_address, None, agent))
    found += [b for b in _caps(case, action) if b.bound_by == "policy"]
    return found + _unapproved(case, event, action, twin)


def _another(m: Mandate, actor: str | None) -> bool:
    """True where the vault's agent is not the record's: an open mandate may be given to another."""
    known = m.agent_address
    return actor is not None and known is not None and actor.lower() != known.lower()


def outflow(event: NewEvent | Event) -> Usdc:
    """What an action takes out: nothing for a sale or a move in."""
    if event.kind not in SPENDING or event.amount_usdc is None or _came_in(event.told.what):
        return ZERO
    return event.amount_usdc


def _came_in(what: Payload) -> bool:
    return isinstance(what, Said) and what.direction == "in"


def _repeated(event: NewEvent, same_tx: Sequence[Event]) -> list[Broken]:
    """A second report of one transaction: of the same kind, or of another action."""
    if event.reported_by is not Reporter.AGENT or event.kind is Kind.NOTE:
        return []
    acts = event.kind in ACTING
    again = any(
        e.reported_by is Reporter.AGENT and (e.kind is event.kind or (acts and e.kind in ACTING))
        for e in same_tx
    )
    return [Broken("duplicate_tx", attempted=event.tx_hash)] if again else []


def _claimed(event: NewEvent) -> _Action:
    spent = outflow(event)
    return _Action(at=event.occurred_at, spent=spent, asked=spent)


def _executed(chain: NewEvent | Event) -> _Action | None:
    called = chain.told.what
    if isinstance(called, Unwound):
        return _Action(at=chain.occurred_at, spent=ZERO, asked=ZERO, called=called)
    if not isinstance(called, Executed):
        return None
    asked = max(called.spent, called.approved) if called.spent else ZERO
    return _Action(at=chain.occurred_at, spent=called.spent, asked=asked, called=called)


def _standing(case: Case, event: NewEvent, action: _Action) -> list[Broken]:
    """Whether the agent has a say at all when it reports."""
    m, found = case.mandate, []
    if m.accepted_at is None:
        found.append(Broken("not_accepted"))
    closed = m.status in CLOSED
    if closed:
        found.append(Broken("mandate_stopped", attempted=event.kind.value))
    if m.ended(action.at):
        ends = timestamp(m.ends_at) if m.ends_at else None
        found.append(Broken("mandate_ended", ends, None, timestamp(action.at)))
    if m.paused and not closed:
        found.append(Broken("mandate_paused", attempted=event.kind.value))
    return found


def _amounts(case: Case, event: NewEvent, action: _Action) -> list[Broken]:
    if not action.spent:
        return []
    found, day = _caps(case, action), day_of(action.at)
    used = spent_on(case, day) + pending_on(case, day)
    if used + action.spent > daily_cap(case):
        found.append(Broken("over_daily_cap", str(daily_cap(case)), str(used), str(action.spent)))
    if not found or found[-1].code != "over_budget":
        found += _over_cash(case, event, action)
    at = worth(case)
    if at is not None and case.measured.deposits and at < floor_now(case):
        found.append(Broken("below_stop_line", str(floor_now(case)), text(at), str(action.spent)))
    return found + _unapproved(case, event, action, None)


def _caps(case: Case, action: _Action) -> list[Broken]:
    """The cap per action and the budget, whoever set the one that binds."""
    if not action.spent:
        return []
    found = []
    (cap, cap_by), (most, by) = per_tx_cap(case), budget(case)
    if action.asked > cap:
        found.append(Broken("over_per_tx_cap", str(cap), None, str(action.asked), cap_by))
    if action.spent > most:
        found.append(Broken("over_budget", str(most), None, str(action.spent), by))
    return found


def _over_cash(case: Case, event: NewEvent, action: _Action) -> list[Broken]:
    """More than the vault holds, where it will not be asked: the report names no transaction."""
    said, held = event.told.what, cash(case)
    if event.tx_hash is not None or held is None or (isinstance(said, Said) and said.notional):
        return []
    if action.spent <= held or action.spent > budget(case)[0]:
        return []
    return [Broken("over_budget", str(held), None, str(action.spent))]


def _unapproved(case: Case, event: NewEvent, action: _Action, twin: Event | None) -> list[Broken]:
    kept, asks = bool(case.mandate.approvals_on_chain), case.mandate.approval_above_usdc
    if kept and action.called is not None:
        return []  # the vault took it, so it had the owner's signature
    if not (kept or case.switches.approval_gate) or asks is None or action.asked <= asks:
        return []
    if _approved(case, event, action, twin):
        return []
    return [Broken("approval_missing", str(asks), None, str(action.asked))]


def _approved(case: Case, event: NewEvent, action: _Action, twin: Event | None) -> bool:
    """True where an item that the owner approved covers the action; one that an earlier execution
    used does not.

    An agent's report of an executed call gets the verdict of the chain's row, which used the item
    up.
    """
    if event.reported_by is Reporter.AGENT and twin is not None:
        return "approval_missing" not in twin.violation_codes
    place = _place(event)
    address, selector = (place.address or "").lower(), (place.selector or "").lower()
    # Calldata that was handed out before an item ran out may be sent as long as its reservation
    # lasts.
    grace = timedelta(seconds=case.config.reservation_s)
    for item in case.approvals:
        if item.status != "approved" or action.at >= item.expires_at + grace:
            continue
        if isinstance(action.called, Executed):
            fits = _is_of(item, action.called)
        else:
            at = (str(item.target.get(n) or "").lower() for n in ("address", "selector"))
            named = all(
                said in ("", own) for said, own in zip((address, selector), at, strict=True)
            )
            fits = named and item.approve_amount_usdc >= action.asked
        if fits:
            return True
    return False


def _is_of(item: Approval, called: Executed) -> bool:
    """True where the item is of this very call: its target, its calldata, its amount."""
    target = str(item.target.get("address") or "").lower()
    same_call = called.data_hash is not None and item.data_hash == called.data_hash.lower()
    same_place = target == (called.place.address or "").lower()
    return same_call and same_place and item.approve_amount_usdc == called.approved


def _place(event: NewEvent) -> Place:
    said = event.told.what
    return said.place if isinstance(said, Said) else NOWHERE


def _target(case: Case, event: NewEvent) -> list[Broken]:
    """A named target must be one of the terms'; a report that names none breaks nothing here."""
    m, told = case.mandate, _place(event)
    if told.address:
        own = m.vault_address is not None and told.address.lower() == m.vault_address.lower()
        return [] if own else _listed(m, told.address, told.selector)
    if told.market and not _market_listed(m, told.market):
        return [Broken("target_not_allowed", attempted={"market": told.market[:NAME_CHARS]})]
    return []


def _market_listed(m: Mandate, market: str) -> bool:
    known = {t.market for t in m.allowed_targets}
    return market in known or _at_venue(m, market) or _host_allowed(m, market)


def _at_venue(m: Mandate, market: str) -> bool:
    venues = [t for t in m.allowed_targets if t.kind == "venue"]
    return any(market == t.venue or market in t.symbols or not t.symbols for t in venues)


def notional(m: Mandate, place: Place) -> bool:
    """True for an action at a venue or a paid host of the terms: no vault's log will tell of it."""
    if place.address or not place.market:
        return False
    if place.market in {t.market for t in m.allowed_targets if t.kind == "contract"}:
        return False
    return _at_venue(m, place.market) or _host_allowed(m, place.market)


def ordered(m: Mandate, place: Place) -> bool:
    """True for an action at the venue whose orders are made here, of which its fills tell too."""
    if not place.market or not notional(m, place) or _host_allowed(m, place.market):
        return False
    return any(
        place.market in (t.venue, *t.symbols) or not t.symbols
        for t in m.allowed_targets
        if t.kind == "venue" and t.venue == VENUE
    )


def _listed(m: Mandate, address: str, selector: str | None) -> list[Broken]:
    """A contract entry for this address, and for this selector where one is named."""
    for t in m.allowed_targets:
        same = t.kind == "contract" and t.address and t.address.lower() == address.lower()
        if same and (selector is None or (t.selector or "").lower() == selector.lower()):
            return []
    named = {"address": address[:NAME_CHARS], "selector": (selector or "")[:NAME_CHARS] or None}
    return [Broken("target_not_allowed", attempted=named)]


def _host_allowed(m: Mandate, host: str) -> bool:
    return any(
        t.kind == "x402" and (host in t.hosts if t.hosts else "." in host)
        for t in m.allowed_targets
    )


def _paid_read(m: Mandate, event: NewEvent) -> list[Broken]:
    """A paid read goes to a host of the terms' x402 entries; an entry without hosts takes any."""
    fee = event.told.what
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
    entries = [t for t in m.allowed_targets if t.kind == "x402"]
    if any(not t.hosts or not hosts.isdisjoint(t.hosts) for t in entries):
        return []
    return [Broken("target_not_allowed", attempted={"resource": resource[:NAME_CHARS]})]


def flagged(event: NewEvent, broken: list[Broken]) -> Mapping[str, object]:
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
