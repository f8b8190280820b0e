"""What happened to something whose answer was lost: ask here, do not send again."""

from __future__ import annotations

from typing import Any, Final

from pydantic import Field

from domain.refusals import Refused, refusal, timestamp
from storage.unit_of_work import UnitOfWork
from tools.access import Facts, OneMandate, TxHash, chain_of, peek, seen_mandate
from tools.operation import Ask, Caller, Deps, Gives, Operation, Reply


class ReconcileIn(OneMandate):
    """Exactly one of the three."""

    tx_hash: TxHash | None = None
    idempotency_key: str | None = Field(default=None, pattern=r"^[A-Za-z0-9._:-]{1,128}$")
    action_hash: str | None = Field(default=None, max_length=256)


class ReconcileOut(Gives):
    """landed | reverted | pending | not_seen."""

    outcome: str
    block: dict[str, Any] | None
    events: list[dict[str, Any]]
    response: dict[str, Any] | None = None
    reserved_until: str | None = None


async def gather(deps: Deps, caller: Caller, asked: ReconcileIn) -> Facts:
    """Ask the chain, where a transaction is named."""
    if sum(v is not None for v in (asked.tx_hash, asked.idempotency_key, asked.action_hash)) != 1:
        fault = {"loc": "tx_hash", "msg": "name exactly one of tx_hash, idempotency_key, action_hash"}
        raise Refused(refusal("invalid_request", detail={"fields": [fault]}))
    m = await peek(deps, caller, asked.public_id)
    chain = chain_of(deps, m)
    if asked.tx_hash is None or chain is None or not chain.rpc_set:
        return Facts()
    return Facts(receipt=await chain.receipt(asked.tx_hash.lower()))


def reconcile(uow: UnitOfWork, ask: Ask[ReconcileIn, Facts]) -> Reply:
    """Say what is known of a transaction, a key or an action."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id)
    if ask.asked.idempotency_key is not None:
        return _by_key(uow, ask, m.agent_id or "")
    if ask.asked.action_hash is not None:
        return _by_action(uow, ask)
    rows = [e.as_json() for e in uow.ledger.by_tx(m.public_id, ask.asked.tx_hash or "")]
    receipt = ask.facts.receipt
    if receipt is None:
        by_chain = any(e["reported_by"] == "chain" for e in rows)
        return Reply(200, {"outcome": "landed" if by_chain else "not_seen", "block": None, "events": rows})
    told = {"number": receipt.block.number, "hash": receipt.block.hash, "depth": receipt.depth}
    return Reply(200, {"outcome": "landed" if receipt.ok else "reverted", "block": told, "events": rows})


def _by_key(uow: UnitOfWork, ask: Ask[ReconcileIn, Facts], agent_id: str) -> Reply:
    claim = uow.idempotency.find(f"{agent_id}:event:{ask.asked.public_id}", ask.asked.idempotency_key or "")
    if claim is None:
        return Reply(200, {"outcome": "not_seen", "block": None, "events": []})
    if claim.status is None:
        return Reply(200, {"outcome": "pending", "block": None, "events": []})
    stored = dict(claim.response or {})
    events = [stored["event"]] if "event" in stored else []
    return Reply(
        200, {"outcome": "landed", "block": None, "events": events, "response": {"status": claim.status, "body": stored}}
    )


def _by_action(uow: UnitOfWork, ask: Ask[ReconcileIn, Facts]) -> Reply:
    for held in uow.reservations.live(ask.asked.public_id, ask.now):
        if held.action_hash == ask.asked.action_hash:
            until = timestamp(held.expires_at)
            return Reply(200, {"outcome": "pending", "block": None, "events": [], "reserved_until": until})
    return Reply(200, {"outcome": "not_seen", "block": None, "events": []})


OPERATIONS: Final = (
    Operation(
        "mandate_reconcile", "Ask what happened", "After a lost answer: was the transaction, key or action landed, reverted, pending, "
        "or not seen? Ask this instead of sending again.",
        "owner_or_agent", ("GET", "/wallet/mandates/{public_id}/reconcile"), ReconcileIn, ReconcileOut, reconcile, gather=gather,
        on_mcp=True, refusals=("not_found", "chain_unavailable"),
    ),
)  # fmt: skip
