"""Attempts that were refused: stored, and proven by the receipt where there is one."""

from __future__ import annotations

import json
from typing import Final, Literal

from pydantic import Field

from domain.facts import Receipt
from domain.ledger.events import Event, Kind, NewEvent, Reporter
from domain.ledger.payloads import RefusedAttempt
from domain.ledger.written import written
from domain.mandates.mandate import Mandate
from domain.ports import Chain
from domain.reads.rows import ledger_row
from domain.reads.shapes import LedgerRow
from domain.refusals import Refused, invalid, refusal
from domain.times import midnight
from storage.unit_of_work import UnitOfWork
from tools.call.access import own_agent_mandate, peek
from tools.call.case import Facts, chain_if_named, named_chain
from tools.call.fields import Line, OneMandate, TxHash
from tools.call.operation import Ask, Caller, Deps, Gives, Operation, Reply
from tools.keeper.handed import end_reverted

ATTEMPTED_MAX: Final = 4_000


class RefusedIn(OneMandate):
    """A refused attempt (spec 2.5)."""

    reason: Literal[
        "TargetNotAllowed",
        "OverPerTxCap",
        "OverDailyCap",
        "MandateStopped",
        "MandateEnded",
        "server_guard",
    ] = Field(
        description="the vault's error; another one (NotAgent, ...) is server_guard, named in check"
    )
    source: Line | None = Field(
        default=None,
        max_length=200,
        description="where the refusal came from, for example execute-call",
    )
    check: Line | None = Field(
        default=None, max_length=200, description="the check or code that failed"
    )
    attempted: dict[str, object] | None = Field(
        default=None, description="what was attempted: target, selector, amount_usdc"
    )
    tx_hash: TxHash | None = None


class RefusedOut(Gives):
    """The stored row; `proven` says that a reverted receipt proves it."""

    event: LedgerRow
    proven: bool
    known: bool
    vault_error: str | None = Field(
        description="the error that the reverted receipt gives; null where none proves one"
    )


async def gather_refusal(deps: Deps, caller: Caller, asked: RefusedIn) -> Facts:
    """Read the receipt, where a transaction is named and the chain answers."""
    m = await peek(deps, caller, asked.public_id)
    chain = chain_if_named(deps, m)
    if asked.tx_hash is None or chain is None or not chain.rpc_set:
        return Facts()
    return Facts(receipt=await _receipt_if_readable(chain, asked.tx_hash))


async def _receipt_if_readable(chain: Chain, tx_hash: str) -> Receipt | None:
    try:
        with chain.hurried():
            return await chain.receipt(tx_hash.lower())
    except Refused:
        return None


def proves(receipt: Receipt | None, m: Mandate) -> bool:
    """True only for a reverted call from the agent's wallet to the vault (spec 2.5)."""
    if (
        receipt is None
        or receipt.ok
        or m.agent_address is None
        or m.vault_address is None
        or receipt.to is None
    ):
        return False
    return (
        receipt.sender.lower() == m.agent_address.lower()
        and receipt.to.lower() == m.vault_address.lower()
    )


def _known(uow: UnitOfWork, m: Mandate, tx_hash: str) -> Event | None:
    rows = uow.ledger.by_tx(m.public_id, tx_hash)
    return next((e for e in rows if isinstance(e.told.what, RefusedAttempt)), None)


def _error_of(event: Event) -> str | None:
    """The vault's error that a receipt proved."""
    what = event.told.what
    proof = what.proof if isinstance(what, RefusedAttempt) else None
    return None if proof is None else str(proof["error"])


def report_refusal(uow: UnitOfWork, ask: Ask[RefusedIn, Facts]) -> Reply:
    """Store a refused attempt: at most 60 a day and mandate, one a transaction."""
    asked = ask.asked
    m = own_agent_mandate(uow, ask.caller, asked.public_id, lock=True)
    if asked.tx_hash is not None and (known := _known(uow, m, asked.tx_hash)) is not None:
        told = {
            "event": ledger_row(known),
            "proven": known.reported_by is Reporter.CHAIN,
            "known": True,
            "vault_error": _error_of(known),
        }
        return Reply(200, told)
    if asked.attempted is not None and len(json.dumps(asked.attempted)) > ATTEMPTED_MAX:
        raise invalid("attempted", f"at most {ATTEMPTED_MAX} characters of JSON")
    state = uow.ledger.state(m.public_id)
    day = ask.now.date().isoformat()
    if state.refusals_day == day and state.refusals_count >= ask.config.refusals_per_day:
        why = f"{ask.config.refusals_per_day} refused attempts are recorded today."
        raise Refused(
            refusal("rate_limited", why=why, retry_at=midnight(ask.now), remaining={"refusals": 0})
        )
    receipt = ask.facts.receipt
    proven = proves(receipt, m)
    if proven and receipt is not None:
        end_reverted(uow, named_chain(ask, m), m, receipt)
    shown = receipt.revert if proven and receipt is not None else None
    attempt = RefusedAttempt(
        reason=asked.reason,
        source=asked.source or "agent",
        check=asked.check,
        attempted=asked.attempted,
        proof=None if shown is None else {"error": shown.name, "args": dict(shown.args)},
    )
    # No block number and no log index: such a row never moves the chain reader's resume point.
    new = NewEvent(
        kind=Kind.NOTE,
        reported_by=Reporter.CHAIN if proven else Reporter.AGENT,
        occurred_at=ask.now,
        amount_usdc=None,
        tx_hash=asked.tx_hash,
        chain_id=m.chain_id,
        payload=written(attempt),
    )
    event = uow.ledger.append(m.public_id, new, event_id=ask.ids.short("ev_"), now=ask.now)
    if event is None:
        raise LookupError("a refusal row carries no log index")
    told = {"event": ledger_row(event), "proven": proven, "known": False}
    return Reply(201, told | {"vault_error": _error_of(event)})


OPERATIONS: Final = (
    Operation(
        name="mandate_report_refusal",
        title="Report a refused attempt",
        summary="Record an attempt that was refused. With tx_hash the receipt is read: a "
        "reverted call from your wallet to the vault proves it.",
        auth="agent",
        route=("POST", "/wallet/mandates/{public_id}/refusals"),
        takes=RefusedIn,
        gives=RefusedOut,
        handler=report_refusal,
        gather=gather_refusal,
        writes=True,
        on_mcp=True,
        statuses={200: "This transaction was reported already", 201: "Stored"},
        refusals=("not_found", "mandate_not_accepted", "secret_not_accepted", "rate_limited"),
    ),
)
