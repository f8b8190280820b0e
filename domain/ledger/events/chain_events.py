"""Vault events: one table of each event's payload in the ledger and step in the record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from domain.ledger.events.event_kinds import LedgerKind
from domain.ledger.events.payloads import (
    AgentPaid,
    CallTarget,
    Control,
    Deposited,
    Executed,
    Marked,
    Observed,
    ObservedPosition,
    PaidFee,
    Payload,
    PurseMoved,
    Settled,
    Stopped,
    Unwound,
    Withdrawn,
)
from domain.money import LIMIT_MICROS, ZERO, Usdc
from domain.wire_fields import Args

StepKind = Literal[
    "instruction",
    "research",
    "verify",
    "consent",
    "action",
    "outcome",
    "funding",
    "control",
    "note",
]
"""Kinds of steps (spec 2.7)."""

X402: Final = "x402"
STOP_REASONS: Final = {0: "none", 1: "owner", 2: "agent", 3: "floor", 4: "withdraw"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainEvent:
    """One event of the vault.

    Shapes: `log` is its Solidity name; `step` the kind and the code of its step (spec 2.7); `reads`
    makes the payload, and the row's amount, of the arguments (Solidity names, base units); `call`
    is the vault transaction that emits it, as an owner names it.
    """

    log: str
    kind: LedgerKind
    payload_type: type[Payload]
    step: tuple[StepKind, str]
    reads: Callable[[Args], tuple[Payload, Usdc | None]]
    call: str | None = None


def _target_of(a: Args) -> CallTarget:
    return CallTarget(address=a["target"], selector=a["selector"])


def _executed(a: Args) -> tuple[Payload, Usdc]:
    payload = Executed(
        target=_target_of(a),
        spent=Usdc(a["spent"]),
        received=Usdc(a["returned"]),
        approved=Usdc(a["approved"]),
        agent=a["agent"],
        data_hash=a.get("dataHash"),
    )
    return payload, payload.spent or payload.received


def _unwound(a: Args) -> tuple[Payload, Usdc]:
    received = Usdc(a["returned"])
    return Unwound(
        target=_target_of(a), received=received, by=a["by"], data_hash=a.get("dataHash")
    ), received


def _stopped(a: Args) -> tuple[Payload, None]:
    return Stopped(reason=STOP_REASONS.get(a["reason"], "unknown"), by=a["by"]), None


def _settled(a: Args) -> tuple[Payload, Usdc]:
    spent, returned = Usdc(a["totalSpent"]), Usdc(a["totalReturned"])
    payload = Settled(
        spent=spent, returned=returned, gain=Usdc(a["gain"]), agent_fee=Usdc(a["agentFee"])
    )
    return payload, returned - spent


def _marked(a: Args) -> tuple[Payload, None]:
    return Marked(
        cash=Usdc(a["cash"]), positions=Usdc(a["positions"]), floor=Usdc(a["floor"])
    ), None


CHAIN_EVENTS: Final = (
    ChainEvent(log="Deposited", kind=LedgerKind.DEPOSIT, payload_type=Deposited,
               step=("funding", "deposit"), call="deposit",
               reads=lambda a: (Deposited(sender=a["from"]), Usdc(a["amount"]))),
    ChainEvent(log="Executed", kind=LedgerKind.MOVE, payload_type=Executed,
               step=("action", "executed"), reads=_executed),
    ChainEvent(log="Unwound", kind=LedgerKind.MOVE, payload_type=Unwound,
               step=("action", "unwound"), call="unwind", reads=_unwound),
    ChainEvent(log="Withdrawn", kind=LedgerKind.WITHDRAW, payload_type=Withdrawn,
               step=("funding", "withdraw"), call="withdraw",
               reads=lambda a: (Withdrawn(), Usdc(a["amount"]))),
    ChainEvent(log="AgentPaid", kind=LedgerKind.PAYOUT, payload_type=AgentPaid,
               step=("outcome", "payout"),
               reads=lambda a: (AgentPaid(agent=a["agent"]), Usdc(a["amount"]))),
    ChainEvent(log="Stopped", kind=LedgerKind.STOP, payload_type=Stopped,
               step=("control", "stop"), call="stop", reads=_stopped),
    ChainEvent(log="Settled", kind=LedgerKind.RESOLVE, payload_type=Settled,
               step=("outcome", "resolve"), reads=_settled),
    ChainEvent(log="AgentRevoked", kind=LedgerKind.NOTE, payload_type=Control,
               step=("control", "paused"), call="pause",
               reads=lambda a: (Control(change="paused", agent=a["agent"]), None)),
    ChainEvent(log="AgentSet", kind=LedgerKind.NOTE, payload_type=Control,
               step=("control", "resumed"), call="resume",
               reads=lambda a: (Control(change="resumed", agent=a["agent"]), None)),
    ChainEvent(log="Marked", kind=LedgerKind.NOTE, payload_type=Marked,
               step=("outcome", "mark"), call="record", reads=_marked),
)  # fmt: skip


def _paid(a: Args) -> tuple[Payload, Usdc]:
    payload = PaidFee(fee_kind=X402, payee=a["to"], nonce=a["nonce"], purse=a["purse"])
    return payload, Usdc(a["amount"])


def _drained(a: Args) -> tuple[Payload, Usdc]:
    payload = PurseMoved(change="drained", purse=a["purse"], to_owner=Usdc(a["toOwner"]))
    return payload, Usdc(a["amount"])


def _came_in(a: Args) -> tuple[Payload, Usdc]:
    return PurseMoved(change="came_in", purse=a["purse"], sender=a["from"]), Usdc(a["amount"])


PURSE_EVENTS: Final = (
    ChainEvent(log="PursePaid", kind=LedgerKind.FEE, payload_type=PaidFee,
               step=("note", "fee"), reads=_paid),
    ChainEvent(log="PurseFunded", kind=LedgerKind.NOTE, payload_type=PurseMoved,
               step=("outcome", "purse_funded"),
               reads=lambda a: (PurseMoved(change="funded", purse=a["purse"]), Usdc(a["amount"]))),
    ChainEvent(log="PurseDrained", kind=LedgerKind.NOTE, payload_type=PurseMoved,
               step=("outcome", "purse_drained"), call="sweep", reads=_drained),
    ChainEvent(log="PurseReceived", kind=LedgerKind.NOTE, payload_type=PurseMoved,
               step=("outcome", "purse_came_in"), reads=_came_in),
    ChainEvent(log="PurseVoided", kind=LedgerKind.NOTE, payload_type=PurseMoved,
               step=("control", "purse_voided"), call="void",
               reads=lambda a: (
                   PurseMoved(change="voided", purse=a["purse"], epoch=a["epoch"]), None)),
)  # fmt: skip
"""What the reader makes of the logs of a purse's hub and of USDC (`chain.contracts.purse_logs`)."""
PURSE_LOGS: Final = frozenset(e.log for e in PURSE_EVENTS)
IN_A_PURSE: Final = frozenset(e.payload_type for e in PURSE_EVENTS)


def observed(args: Args, block: int, keys: Sequence[str]) -> Observed:
    """The vault right after a log; `cash` is 0 until the ledger fills it in from the rows before.

    Shapes: `keys` name the vault's value probes in their order. A log that has no values observes
    no position; a probe value above `LIMIT_MICROS` reads as None.
    """
    values = args.get("values")
    if not isinstance(values, (list, tuple)) or len(values) != len(keys):
        return Observed(block=block, cash=ZERO, positions=(), is_complete=not keys)
    positions = tuple(
        ObservedPosition(key=key, value=Usdc(v) if 0 <= v <= LIMIT_MICROS else None)
        for key, v in zip(keys, values, strict=True)
    )
    is_complete = all(p.value is not None for p in positions)
    return Observed(block=block, cash=ZERO, positions=positions, is_complete=is_complete)


BY_LOG: Final[Mapping[str, ChainEvent]] = {e.log: e for e in (*CHAIN_EVENTS, *PURSE_EVENTS)}
LOG_OF: Final[Mapping[str, str]] = {
    e.call: e.log for e in (*CHAIN_EVENTS, *PURSE_EVENTS) if e.call is not None
}
