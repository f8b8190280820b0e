"""Rules about what an action is of: its target, its agent, its transaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from domain.ledger.events.payloads import CallTarget, PaidFee, PaymentUnexplained
from domain.mandates.mandate import Mandate
from domain.mandates.payment_requests import hosts_of
from domain.mandates.targets import NOT_LISTED, TargetMismatch
from domain.next_steps import AGENT, NextStep
from domain.rules.rule import ActionRequest, JudgedRow, Numbers, OrderCheck, RuleCheck
from domain.rules.snapshot import MandateSnapshot
from domain.rules.venue_exposure import may_trade
from domain.trading.venue_values import VENUE

NAME_CHARS: Final = 128

ARGUMENT: Final = NextStep(
    "Put the vault's own address into the argument word that detail.argument names (counted from "
    "0), and ask with dry_run=true first",
    "mandate_execute_call",
    "GET /wallet/mandates/{public_id}/execute-call",
    AGENT,
)


# -- the target of a call or an order


def listed(snapshot: MandateSnapshot, request: ActionRequest) -> RuleCheck:
    """The call is on the list of allowed targets."""
    mismatch = snapshot.mandate.mismatch_of(request.target, request.data)
    if mismatch is not None:
        return unlisted(mismatch, request.target, request.selector)
    return RuleCheck(True, {"target": request.target, "selector": request.selector})


def unlisted(
    mismatch: TargetMismatch, target: str, selector: str, *, step: NextStep = ARGUMENT
) -> RuleCheck:
    """The check of an unlisted call; a wrong argument is the caller's to mend, by `step`."""
    raw: dict[str, object] = {"target": target, "selector": selector}
    words = {"why": mismatch.reason}
    if mismatch.argument is None:
        return RuleCheck(False, raw, words)
    raw["argument"] = mismatch.argument
    return RuleCheck(False, raw, words, next=(step,), who_fixes="agent")


def order_listed(snapshot: MandateSnapshot, order: OrderCheck) -> RuleCheck:
    """The mandate names the product."""
    return RuleCheck(may_trade(snapshot.mandate, order.product), unlisted_product(order.product))


def unlisted_product(product: str) -> Mapping[str, object]:
    """The words of the refusal of a product that is not named."""
    return {"target": VENUE, "selector": product, "why": NOT_LISTED}


def claimed_unlisted(judged: JudgedRow) -> Numbers | None:
    """A claim that names a target which is none of the terms'; no target breaks nothing."""
    mandate, target = judged.snapshot.mandate, judged.target
    if target.address:
        vault = mandate.vault_address
        is_own = vault is not None and target.address.lower() == vault.lower()
        return None if is_own else _unlisted_contract(mandate, target.address, target.selector)
    market = target.market
    if not market or any(t.market == market or t.takes(market) for t in mandate.allowed_targets):
        return None
    return Numbers(attempted={"market": market[:NAME_CHARS]})


def _unlisted_contract(mandate: Mandate, address: str, selector: str | None) -> Numbers | None:
    """None where a contract entry has this address, and this selector where one is named."""
    for t in mandate.allowed_targets:
        if t.names(address, selector if selector is not None else t.selector or ""):
            return None
    name = {"address": address[:NAME_CHARS], "selector": (selector or "")[:NAME_CHARS] or None}
    return Numbers(attempted=name)


def notional(mandate: Mandate, target: CallTarget) -> bool:
    """True for an action at a venue or a paid host of the terms: no vault log will show it."""
    market, entries = target.market, mandate.allowed_targets
    if target.address or not market:
        return False
    is_contract = any(t.kind == "contract" and t.market == market for t in entries)
    return not is_contract and any(t.takes(market) for t in entries)


def ordered(mandate: Mandate, target: CallTarget) -> bool:
    """True for an action at the venue whose orders are made here: its fills report it too."""
    market, entries = target.market, mandate.allowed_targets
    if not market or not notional(mandate, target):
        return False
    is_host = any(t.kind == "x402" and t.takes(market) for t in entries)
    return not is_host and any(t.is_traded and t.takes(market) for t in entries)


def paid_unlisted(judged: JudgedRow) -> Numbers | None:
    """A paid read at a host of no x402 entry of the terms; an entry without hosts takes any."""
    fee = judged.event.content.body
    if not isinstance(fee, PaidFee) or not fee.paid_read or fee.resource is None:
        return None
    resource = fee.resource
    if pays_at(judged.snapshot.mandate, hosts_of(resource)):
        return None
    return Numbers(attempted={"resource": resource[:NAME_CHARS]})


def pays_at(mandate: Mandate, hosts: frozenset[str]) -> bool:
    """True where the terms let paid reads be bought at a host, alone or with its port."""
    entries = [t for t in mandate.allowed_targets if t.kind == "x402"]
    return any(not t.hosts or not hosts.isdisjoint(t.hosts) for t in entries)


def unexplained(judged: JudgedRow) -> Numbers | None:
    """A note that the hour of a payment is over, and nobody said what it bought."""
    body, amount = judged.event.content.body, judged.event.amount_usdc
    if not isinstance(body, PaymentUnexplained):
        return None
    return Numbers(attempted=None if amount is None else str(amount))


# -- the agent, and the transaction


def executed_by_other(judged: JudgedRow) -> Numbers | None:
    """An execution by another agent than the record's: an open mandate may be given to another."""
    own = judged.snapshot.mandate.agent_address
    actor = judged.called.agent if judged.called else None
    if actor is None or own is None or actor.lower() == own.lower():
        return None
    return Numbers(own, None, actor[:NAME_CHARS])


def reported_again(judged: JudgedRow) -> Numbers:
    """A second report of one transaction."""
    return Numbers(attempted=judged.event.tx_hash)
