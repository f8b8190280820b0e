"""What happened to something whose answer was lost: ask here, do not send again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import Field

from domain.facts import BlockStamp, Receipt, Sent
from domain.ledger.events import Event, Reporter
from domain.ledger.pairing import stands
from domain.ledger.payloads import RefusedAttempt
from domain.mandates.approvals import OPEN, Reservation
from domain.mandates.mandate import Mandate
from domain.ports import Chain
from domain.reads.rows import ledger_row
from domain.reads.shapes import LedgerRow
from domain.refusals import Refused, invalid
from domain.times import Timestamp
from storage.unit_of_work import UnitOfWork
from tools.acting.reports import EventOut
from tools.call.access import peek, seen_mandate
from tools.call.case import chain_if_named, chain_if_named_here, signed_digest
from tools.call.fields import OneMandate, TxHash
from tools.call.operation import HEAVY, Answer, Ask, Caller, Deps, Gives, Operation, Reply
from tools.keeper.handed import end_reverted

UNASKED: Final = "The chain could not be asked."


class ReconcileIn(OneMandate):
    """Exactly one of the three."""

    tx_hash: TxHash | None = None
    idempotency_key: str | None = Field(
        default=None, pattern=r"^[A-Za-z0-9._:-]{1,128}$", description="the key of a report"
    )
    action_hash: str | None = Field(
        default=None,
        pattern=r"^0x[0-9a-fA-F]{64}$",
        description="the action_hash that came with calldata: this very call, the newest time it "
        "was handed out",
    )


class BlockTold(Gives):
    """The block that the transaction is in; `depth` counts the blocks on top of it."""

    number: int | None
    hash: str | None = None
    depth: int | None = None


class FirstAnswer(Gives):
    """What the first call with the key was answered."""

    status: int
    body: EventOut


class ReconcileOut(Gives):
    """What is known of a transaction, a key or an action."""

    outcome: Literal["landed", "reverted", "pending", "not_seen", "unknown"] = Field(
        description="landed and reverted are proven; unknown: it cannot be told, why says for "
        "what reason"
    )
    block: BlockTold | None
    events: list[LedgerRow]
    tx_hash: str | None = Field(default=None, description="the transaction that proves it")
    retry_safe: bool = Field(description="true only where nothing can have been sent")
    why: str | None = Field(default=None, description="what the outcome rests on")
    response: FirstAnswer | None = None
    reserved_until: Timestamp | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainSays:
    """What the chain was asked: of a transaction, or of what an agent's wallet sent.

    `asked` is false where it could not be; `waits` is true for a transaction that is known and not
    mined yet.
    """

    asked: bool = False
    receipt: Receipt | None = None
    waits: bool = False
    sent: Sent | None = None


async def gather(deps: Deps, caller: Caller, asked: ReconcileIn) -> ChainSays:
    """Ask the chain, where a transaction or an action is named."""
    if sum(v is not None for v in (asked.tx_hash, asked.idempotency_key, asked.action_hash)) != 1:
        raise invalid("tx_hash", "name exactly one of tx_hash, idempotency_key, action_hash")
    m = await peek(deps, caller, asked.public_id)
    chain = chain_if_named(deps, m)
    if chain is None or not chain.rpc_set or asked.idempotency_key is not None:
        return ChainSays()
    try:
        if asked.action_hash is not None:
            return await _of_action(deps, chain, m, asked.action_hash.lower())
        return await _of_tx(chain, (asked.tx_hash or "").lower())
    except Refused:
        return ChainSays()


async def _of_tx(chain: Chain, tx_hash: str) -> ChainSays:
    receipt = await chain.receipt(tx_hash)
    waits = receipt is None and await chain.waiting(tx_hash)
    return ChainSays(asked=True, receipt=receipt, waits=waits)


async def _of_action(deps: Deps, chain: Chain, m: Mandate, action_hash: str) -> ChainSays:
    held = await deps.store.read(
        lambda uow: uow.reservations.of_action(m.public_id, action_hash),
    )
    if held is None or m.vault_address is None:
        return ChainSays(asked=True)
    if held.outcome == "landed" and held.tx_hash is not None:
        return await _of_tx(chain, held.tx_hash)
    if held.block is None:
        return ChainSays()
    return ChainSays(asked=True, sent=await chain.sent(held.sender, m.vault_address, held.block))


def reconcile(uow: UnitOfWork, ask: Ask[ReconcileIn, ChainSays]) -> Answer | Reply:
    """Say what is known of a transaction, a key or an action."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id)
    if ask.asked.idempotency_key is not None:
        return _by_key(uow, ask, m.agent_id or "")
    if ask.asked.action_hash is not None:
        return Answer(_by_action(uow, ask, m, ask.asked.action_hash.lower()))
    return Answer(_by_tx(uow, ask, m, (ask.asked.tx_hash or "").lower()))


# -- a transaction


def _by_tx(
    uow: UnitOfWork, ask: Ask[ReconcileIn, ChainSays], m: Mandate, tx_hash: str
) -> ReconcileOut:
    """What the chain says; where it was not asked or forgot, what the ledger holds and no
    reorganisation took away.
    """
    rows = uow.ledger.by_tx(m.public_id, tx_hash)
    receipt, chain = ask.facts.receipt, chain_if_named_here(ask, m)
    if receipt is not None and chain is not None:
        if not receipt.ok:
            end_reverted(uow, chain, m, receipt)
            return _told("reverted", rows, receipt=receipt)
        if _of_mandate(chain, m, receipt) or _landed(rows):
            return _told("landed", rows, receipt=receipt)
        why = "It succeeded, and nothing in it is of this mandate's vault."
        return _told("unknown", rows, receipt=receipt, why=why)
    if ask.facts.waits:
        return _told("pending", rows, why="The node knows it, and no block holds it yet.")
    if _landed(rows):
        return _told("landed", rows, why="By the ledger.")
    if any(e.reported_by is Reporter.CHAIN and _refused(e) for e in rows):
        return _told("reverted", rows, why="By the ledger.")
    if not ask.facts.asked:
        return _told("unknown", rows, why=UNASKED)
    return _told("not_seen", rows, why="The node knows no such transaction.")


def _of_mandate(chain: Chain, m: Mandate, receipt: Receipt) -> bool:
    """True for a transaction to this mandate's vault, or with a log of it or of its creation."""
    vault, digest = (m.vault_address or "").lower(), signed_digest(chain, m)
    ours = {vault, (chain.factory or "").lower()} - {""}
    called = bool(vault) and (receipt.to or "").lower() == vault
    return called or any(g.address.lower() in ours and g.mandate == digest for g in receipt.logs)


def _landed(rows: Sequence[Event]) -> bool:
    logs = [e for e in rows if e.reported_by is Reporter.CHAIN and e.log_index is not None]
    return any(stands(rows, e.event_id) is not None for e in logs)


def _refused(event: Event) -> bool:
    return isinstance(event.told.what, RefusedAttempt)


def _told(
    outcome: Literal["landed", "reverted", "pending", "not_seen", "unknown"],
    rows: Sequence[Event] = (),
    *,
    receipt: Receipt | None = None,
    why: str | None = None,
    **more: Any,
) -> ReconcileOut:
    block = None
    if receipt is not None:
        at: BlockStamp = receipt.block
        block = BlockTold(number=at.number, hash=at.hash, depth=receipt.depth)
    elif outcome == "landed":
        block = BlockTold(number=next((e.block_number for e in rows if e.block_number), None))
    return ReconcileOut(
        outcome=outcome,
        block=block,
        events=[ledger_row(e) for e in rows],
        tx_hash=more.pop("tx_hash", receipt.tx_hash if receipt else None),
        retry_safe=more.pop("retry_safe", False),
        why=why,
        **more,
    )


# -- the key of a report


def _by_key(uow: UnitOfWork, ask: Ask[ReconcileIn, ChainSays], agent_id: str) -> Answer | Reply:
    claim = uow.idempotency.find(
        f"{agent_id}:event:{ask.asked.public_id}", ask.asked.idempotency_key or ""
    )
    if claim is None:
        return Answer(_told("not_seen", why="No call with this key was stored.", retry_safe=True))
    if claim.status is None:
        return Answer(_told("pending", why="The first call with this key still runs."))
    stored = dict(claim.response or {})
    told = {
        "outcome": "landed",
        "block": None,
        "events": [stored["event"]] if "event" in stored else [],
        "retry_safe": False,
        "response": {"status": claim.status, "body": stored},
    }
    return Reply(200, told)


# -- an action


def _by_action(
    uow: UnitOfWork, ask: Ask[ReconcileIn, ChainSays], m: Mandate, action_hash: str
) -> ReconcileOut:
    """What became of this very call since its calldata was handed out the newest time."""
    held = uow.reservations.of_action(m.public_id, action_hash)
    if held is None:
        asked = uow.approvals.of_action(m.public_id, action_hash)
        if any(a.shown(ask.now) in OPEN for a in asked):
            why = "It waits for the owner; its calldata was not handed out."
            return _told("pending", why=why, retry_safe=True)
        return _told("not_seen", why="Its calldata was not handed out.", retry_safe=True)
    chain, facts = chain_if_named_here(ask, m), ask.facts
    if held.outcome == "landed":
        return _executed(uow, m, held, facts)
    mine = _calls_of(chain, m, held, facts.sent)
    if (ran := next((c for c in mine if c.ok), None)) is not None:
        return _told("landed", uow.ledger.by_tx(m.public_id, ran.tx_hash), receipt=ran)
    if mine and chain is not None:
        end_reverted(uow, chain, m, mine[-1])
        return _told("reverted", uow.ledger.by_tx(m.public_id, mine[-1].tx_hash), receipt=mine[-1])
    if held.outcome == "reverted" and held.tx_hash is not None:
        rows = uow.ledger.by_tx(m.public_id, held.tx_hash)
        return _told("reverted", rows, why="By its receipt.", tx_hash=held.tx_hash)
    return _open(ask, held)


def _executed(uow: UnitOfWork, m: Mandate, held: Reservation, facts: ChainSays) -> ReconcileOut:
    """The ledger holds its execution, unless a reorganisation took it away since."""
    rows = uow.ledger.by_tx(m.public_id, held.tx_hash or "")
    if _landed(rows):
        return _told("landed", rows, receipt=facts.receipt, tx_hash=held.tx_hash)
    why = "It was executed, and a reorganisation of the chain took that away."
    return _told("pending" if facts.waits else "unknown", rows, why=why, tx_hash=held.tx_hash)


def _calls_of(
    chain: Chain | None, m: Mandate, held: Reservation, sent: Sent | None
) -> list[Receipt]:
    """The transactions of the agent's wallet since then that are this very call."""
    if chain is None or sent is None or m.vault_address is None:
        return []
    named = [(c, chain.action_called(m.vault_address, c.data or "")) for c in sent.calls]
    wanted = held.action.action_hash
    return [c for c, a in named if a is not None and a.action_hash == wanted]


def _open(ask: Ask[ReconcileIn, ChainSays], held: Reservation) -> ReconcileOut:
    """Handed out, and no proof of what became of it."""
    sent = ask.facts.sent
    if sent is None or sent.unknown is not None or sent.as_of is None:
        return _told("unknown", why=UNASKED if sent is None else sent.unknown)
    until = held.expires_at if ask.now < held.expires_at else None
    if sent.waits:
        why = "A transaction of the agent's wallet waits to be mined; it may be this one."
        return _told("pending", why=why, reserved_until=until)
    seen = f"No transaction of the agent's wallet up to block {sent.as_of.number} is this call"
    if until is not None:
        return _told("pending", why=f"{seen}; it may still be sent.", reserved_until=until)
    return _told("not_seen", why=f"{seen}.")


OPERATIONS: Final = (
    Operation(
        name="mandate_reconcile",
        title="Ask what happened",
        summary="After a lost answer: was the transaction, key or action landed, reverted, "
        "pending, not seen, or can it not be told? Ask this instead of sending again.",
        auth="owner_or_agent",
        route=("GET", "/wallet/mandates/{public_id}/reconcile"),
        takes=ReconcileIn,
        gives=ReconcileOut,
        handler=reconcile,
        gather=gather,
        writes=True,
        idempotent=True,
        weight=HEAVY,
        on_mcp=True,
        refusals=("not_found",),
    ),
)
