"""Who may see a mandate, and everything a handler needs to know of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from domain.facts import Receipt, SignerCheck, VaultState
from domain.mandates.mandate import Mandate, Status
from domain.mandates.terms import agrees, typed_data
from domain.ports import Chain
from domain.refusals import Refused, refusal
from domain.rules.case import Book
from storage.unit_of_work import UnitOfWork
from tools.operation import Ask, Caller, Deps, Takes

PublicId = Annotated[
    str,
    Field(
        max_length=64,
        description="the mandate's id",
        examples=["m_abcdefgh23"],
        json_schema_extra={"pattern": "^m_[a-z2-7]{10}$"},
    ),
]
Limit = Annotated[int, Field(ge=1, le=200, description="rows a page")]
Cursor = Annotated[str | None, Field(max_length=512, description="next_cursor of the page before")]
TxHash = Annotated[str, Field(pattern=r"^0x[0-9a-fA-F]{64}$", description="transaction hash, 0x and 64 hex digits")]
HexData = Annotated[str, Field(pattern=r"^0x([0-9a-fA-F]{2})*$", max_length=65_536, description="calldata, 0x hex")]
Address = Annotated[str, Field(max_length=64, description="address, lower case or with its EIP-55 checksum")]
CHAIN_EVENTS = 50


class OneMandate(Takes):
    """An operation on one mandate."""

    public_id: PublicId


@dataclass(frozen=True, slots=True)
class Facts:
    """What was gathered from the chain before the transaction."""

    vault: VaultState | None = None
    signer: SignerCheck | None = None
    signed_message: str | None = None
    receipt: Receipt | None = None
    more: Any = None


def not_found(what: str = "mandate") -> Refused:
    """The same answer for "not yours" and "not there" (contract 1)."""
    return Refused(refusal("not_found", what=what))


def sees(caller: Caller, m: Mandate) -> bool:
    """True for its owner and its agent; an offer on the open board is seen by every agent."""
    if caller.role == "owner":
        return m.owner_id == caller.user_id
    if caller.role != "agent":
        return caller.role == "keeper"
    on_board = m.open_board and m.agent_id is None and m.status in (Status.DRAFT, Status.SIGNED, Status.WORKING)
    return m.agent_id == caller.user_id or on_board


def seen_mandate(uow: UnitOfWork, caller: Caller, public_id: str, *, lock: bool = False) -> Mandate:
    """The mandate, if the caller may see it.

    Errors: `not_found`.
    """
    m = uow.mandates.get(public_id, lock=lock)
    if m is None or not sees(caller, m):
        raise not_found()
    return m


def own_agent_mandate(uow: UnitOfWork, caller: Caller, public_id: str, *, lock: bool = False) -> Mandate:
    """The mandate of the calling agent.

    Errors: `not_found`; `mandate_not_accepted` for an offer of the open board, which is seen but nobody's yet.
    """
    m = seen_mandate(uow, caller, public_id, lock=lock)
    if m.agent_id != caller.user_id:
        raise Refused(refusal("mandate_not_accepted")) if m.agent_id is None else not_found()
    return m


async def peek(deps: Deps, caller: Caller, public_id: str) -> Mandate:
    """Read the mandate outside the operation's transaction, to know what to ask the chain."""
    return await deps.store.read(lambda uow: seen_mandate(uow, caller, public_id))


def chain_of(deps: Deps, m: Mandate) -> Chain | None:
    """The mandate's chain, None where no setting names it."""
    try:
        return deps.chains.get(m.chain_id)
    except Refused:
        return None


async def vault_now(chain: Chain | None, m: Mandate) -> VaultState | None:
    """The vault at the newest block; None where it cannot be read. A read never fails because of the chain."""
    if chain is None or not chain.rpc_set or m.vault_address is None:
        return None
    try:
        return (await chain.vault_states([m.vault_address]))[m.vault_address]
    except Refused:
        return None


def signed_digest(chain: Chain, m: Mandate) -> str | None:
    """The digest of the terms as they were signed."""
    s = m.signed
    if s is None:
        return None
    return chain.digest(typed_data(s.message, s.version, s.chain_id, s.verifying_contract))


async def signature_now(chain: Chain | None, m: Mandate) -> SignerCheck | None:
    """Recompute who signed. A contract wallet was asked at a block that is kept, so that rotating its keys later does
    not change what history says (contract 4).
    """
    if chain is None or m.signed is None:
        return None
    if m.signed.signer_type != "eoa":
        return SignerCheck(m.signed.signer_type, m.signed.checked_block)
    digest = signed_digest(chain, m)
    return None if digest is None else await chain.check_signature(digest, m.signed.signature, m.owner_address)


async def gather_mandate(deps: Deps, caller: Caller, asked: Any) -> Facts:
    """What a mandate read asks of the chain."""
    m = await peek(deps, caller, asked.public_id)
    chain = chain_of(deps, m)
    return Facts(vault=await vault_now(chain, m), signer=await signature_now(chain, m))


def terms_status(m: Mandate, chain: Chain | None, facts: Facts) -> dict[str, Any] | None:
    """`{signed, version, digest_matches, signer_matches}` for every non-draft mandate; computed, never stored."""
    if m.status is Status.DRAFT:
        return None
    s = m.signed
    if s is None or chain is None:
        return {"signed": s is not None, "version": s.version if s else None, "digest_matches": None, "signer_matches": None}
    allowed, guard = chain.targets_hash(m.allowed_targets), chain.guard_hash(m.allowed_targets)
    return {
        "signed": True,
        "version": s.version,
        "digest_matches": agrees(m, s.message, allowed, guard),
        "signer_matches": facts.signer is not None,
        "signer_type": s.signer_type,
        "checked_block": s.checked_block,
    }


def chain_in(ask: Ask[Any, Any], m: Mandate) -> Chain | None:
    """The mandate's chain inside a handler: only its pure methods may be used there."""
    try:
        return ask.chains.get(m.chain_id)
    except Refused:
        return None


def named_chain(ask: Ask[Any, Any], m: Mandate) -> Chain:
    """The mandate's chain, which the operation cannot do without.

    Errors: `not_configured`.
    """
    return ask.chains.get(m.chain_id)


def load_book(uow: UnitOfWork, ask: Ask[Any, Any], m: Mandate, facts: Facts | None = None, *, events: int = CHAIN_EVENTS) -> Book:
    """Everything the derivations look at, by a bounded number of queries."""
    facts = facts or Facts()
    vault, asks = m.vault_address, m.approval_above_usdc is not None
    # Calldata is only handed out for a vault, and only where the owner is asked can an approval be open.
    staged = uow.chainlog.staged_of(m.chain_id, vault, m.public_id) if vault else []
    return Book(
        mandate=m,
        state=uow.ledger.state(m.public_id),
        now=ask.now,
        config=ask.config,
        switches=ask.switches,
        events=tuple(uow.ledger.newest(m.public_id, events)) if events else (),
        chain=facts.vault,
        approvals=(*uow.approvals.pending(m.public_id, ask.now), *uow.approvals.approved(m.public_id, ask.now)) if asks else (),
        reservations=tuple(uow.reservations.live(m.public_id, ask.now)) if vault else (),
        policy=uow.policies.get(m.agent_id) if m.agent_id else None,
        provisional=tuple({**s.body, "confirmed_on_chain": False, "block": s.block_number, "tx_hash": s.tx_hash} for s in staged),
        terms_status=terms_status(m, chain_in(ask, m), facts),
    )
