"""What happened to something whose answer was lost: ask here, do not send again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from pydantic import Field

from domain.facts import Receipt
from domain.ledger.events import Event, Reporter
from domain.ledger.pairing import stands
from domain.ledger.payloads import Executed, RefusedAttempt
from domain.mandates.actions import action_hash_of
from domain.mandates.mandate import Mandate
from domain.refusals import invalid
from domain.times import timestamp
from storage.unit_of_work import UnitOfWork
from tools.call.access import peek, seen_mandate
from tools.call.case import chain_if_named
from tools.call.fields import OneMandate, TxHash
from tools.call.operation import Ask, Caller, Deps, Gives, Operation, Reply

LOOKS_BACK: Final = 200


class ReconcileIn(OneMandate):
    """Exactly one of the three."""

    tx_hash: TxHash | None = None
    idempotency_key: str | None = Field(
        default=None, pattern=r"^[A-Za-z0-9._:-]{1,128}$", description="the key of a report"
    )
    action_hash: str | None = Field(
        default=None, max_length=256, description="the action_hash that came with calldata"
    )


class ReconcileOut(Gives):
    """landed | reverted | pending | not_seen."""

    outcome: str
    block: dict[str, Any] | None
    events: list[dict[str, Any]]
    response: dict[str, Any] | None = None
    reserved_until: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainSays:
    """What the chain was asked of a transaction; `waits` where it is known and not mined yet."""

    receipt: Receipt | None = None
    waits: bool = False


async def gather(deps: Deps, caller: Caller, asked: ReconcileIn) -> ChainSays:
    """Ask the chain, where a transaction is named."""
    if sum(v is not None for v in (asked.tx_hash, asked.idempotency_key, asked.action_hash)) != 1:
        raise invalid("tx_hash", "name exactly one of tx_hash, idempotency_key, action_hash")
    m = await peek(deps, caller, asked.public_id)
    chain = chain_if_named(deps, m)
    if asked.tx_hash is None or chain is None or not chain.rpc_set:
        return ChainSays()
    receipt = await chain.receipt(asked.tx_hash.lower())
    waits = receipt is None and await chain.waiting(asked.tx_hash.lower())
    return ChainSays(receipt=receipt, waits=waits)


def reconcile(uow: UnitOfWork, ask: Ask[ReconcileIn, ChainSays]) -> Reply:
    """Say what is known of a transaction, a key or an action."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id)
    if ask.asked.idempotency_key is not None:
        return _by_key(uow, ask, m.agent_id or "")
    if ask.asked.action_hash is not None:
        return _by_action(uow, ask)
    return _by_tx(uow, m, ask.asked.tx_hash or "", ask.facts)


def _by_tx(uow: UnitOfWork, m: Mandate, tx_hash: str, facts: ChainSays) -> Reply:
    """What the chain says; where it was not asked or forgot, what the ledger holds and no
    reorganisation took away.
    """
    rows = uow.ledger.by_tx(m.public_id, tx_hash)
    receipt, shown = facts.receipt, [e.as_json() for e in rows]
    if receipt is not None:
        told = {"number": receipt.block.number, "hash": receipt.block.hash, "depth": receipt.depth}
        return Reply(
            200, {"outcome": "landed" if receipt.ok else "reverted", "block": told, "events": shown}
        )
    if facts.waits:
        return Reply(200, {"outcome": "pending", "block": None, "events": shown})
    proven = [e for e in rows if e.reported_by is Reporter.CHAIN]
    stands = [e for e in proven if e.log_index is not None and stands(rows, e.event_id) is not None]
    refused = any(isinstance(e.told.what, RefusedAttempt) for e in proven)
    outcome = "landed" if stands else "reverted" if refused else "not_seen"
    return Reply(200, {"outcome": outcome, "block": None, "events": shown})


def _by_key(uow: UnitOfWork, ask: Ask[ReconcileIn, ChainSays], agent_id: str) -> Reply:
    claim = uow.idempotency.find(
        f"{agent_id}:event:{ask.asked.public_id}", ask.asked.idempotency_key or ""
    )
    if claim is None:
        return Reply(200, {"outcome": "not_seen", "block": None, "events": []})
    if claim.status is None:
        return Reply(200, {"outcome": "pending", "block": None, "events": []})
    stored = dict(claim.response or {})
    events = [stored["event"]] if "event" in stored else []
    return Reply(
        200,
        {
            "outcome": "landed",
            "block": None,
            "events": events,
            "response": {"status": claim.status, "body": stored},
        },
    )


def _by_action(uow: UnitOfWork, ask: Ask[ReconcileIn, ChainSays]) -> Reply:
    """Pending while its calldata may still be sent; landed where a newer row tells of its
    execution.

    The vault's log names target, selector and approved amount, not the calldata: two actions that
    share the three share the executions shown.
    """
    public_id, key = ask.asked.public_id, ask.asked.action_hash or ""
    ran = [e for e in uow.ledger.newest(public_id, LOOKS_BACK) if executes(e, key)]
    events = [e.as_json() for e in ran]
    for held in uow.reservations.live(public_id, ask.now):
        if held.action_hash == key:
            told = {
                "outcome": "pending",
                "block": None,
                "events": events,
                "reserved_until": timestamp(held.expires_at),
            }
            return Reply(200, told)
    if ran:
        return Reply(
            200, {"outcome": "landed", "block": {"number": ran[0].block_number}, "events": events}
        )
    waits = any(
        a.shown(ask.now) in ("pending", "approved") for a in uow.approvals.of_action(public_id, key)
    )
    return Reply(200, {"outcome": "pending" if waits else "not_seen", "block": None, "events": []})


def executes(event: Event, key: str) -> bool:
    """True for the chain's row of an execution that this action hash stands for."""
    told = event.told.what
    if event.reported_by is not Reporter.CHAIN or not isinstance(told, Executed):
        return False
    address, selector = told.place.address or "", told.place.selector or ""
    known = action_hash_of(address, selector, told.approved, "").rpartition(":")[0]
    return key.startswith(known + ":")


OPERATIONS: Final = (
    Operation(
        name="mandate_reconcile",
        title="Ask what happened",
        summary="After a lost answer: was the transaction, key or action landed, reverted, "
        "pending, "
        "or not seen? Ask this instead of sending again.",
        auth="owner_or_agent",
        route=("GET", "/wallet/mandates/{public_id}/reconcile"),
        takes=ReconcileIn,
        gives=ReconcileOut,
        handler=reconcile,
        gather=gather,
        on_mcp=True,
        refusals=("not_found", "chain_unavailable"),
    ),
)
