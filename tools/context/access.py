"""Access rules: which callers may see a mandate, and which wallet an address may be."""

from __future__ import annotations

from datetime import datetime

from domain.chain_facts import VaultState
from domain.mandates.mandate import Mandate, Status
from domain.refusals import Refused, refusal
from storage.prefetch.read_set import ReadSet
from storage.unit_of_work import UnitOfWork
from tools.model.fields import OneMandate
from tools.model.operation import AnyContext, Caller, Deps


def not_found(subject: str = "mandate") -> Refused:
    """One answer for "not yours" and "not there" (contract 1)."""
    return Refused(refusal("not_found", what=subject))


def wrong_status(mandate: Mandate, action: str) -> Refused:
    """The refusal of an action that the mandate's status does not allow."""
    return Refused(refusal("wrong_status", status=mandate.status.value, action=action))


def is_over(mandate: Mandate, vault: VaultState | None) -> bool:
    """True where the vault takes no stop any more; the record decides where the vault was not
    read.
    """
    if vault is not None and vault.exists:
        return vault.stopped or vault.settled
    return mandate.status is Status.SETTLED


def check_forfeit(mandate: Mandate, vault: VaultState | None) -> None:
    """Check that the vault takes a stop of its agent. Errors: `wrong_status`, `mandate_stopped`,
    `mandate_paused`.
    """
    if mandate.vault_address is None:
        raise wrong_status(mandate, "forfeiting it")
    if is_over(mandate, vault):
        raise Refused(refusal("mandate_stopped"))
    # A paused vault knows no agent, so its stop() is not open to one.
    if vault.paused if vault is not None and vault.exists else mandate.paused:
        raise Refused(refusal("mandate_paused"))


def can_see(caller: Caller, mandate: Mandate) -> bool:
    """True for its owner and its agent; an offer on the open board is seen by every agent."""
    if caller.role == "owner":
        return mandate.owner_id == caller.user_id
    if caller.role != "agent":
        return caller.role == "keeper"
    on_board = (
        mandate.open_board
        and mandate.agent_id is None
        and mandate.status in (Status.DRAFT, Status.SIGNED, Status.WORKING)
    )
    return mandate.agent_id == caller.user_id or on_board


def visible_mandate(
    uow: UnitOfWork, caller: Caller, public_id: str, *, lock: bool = False
) -> Mandate:
    """The mandate, if the caller may see it.

    Errors: `not_found`.
    """
    mandate = uow.mandates.get(public_id, lock=lock)
    if mandate is None or not can_see(caller, mandate):
        raise not_found()
    return mandate


def agent_mandate(
    uow: UnitOfWork, caller: Caller, public_id: str, *, lock: bool = False
) -> Mandate:
    """The mandate of the calling agent.

    Errors: `not_found`; `mandate_not_accepted` for an offer of the open board, which is seen but
    nobody's yet.
    """
    mandate = visible_mandate(uow, caller, public_id, lock=lock)
    if mandate.agent_id != caller.user_id:
        raise Refused(refusal("mandate_not_accepted")) if mandate.agent_id is None else not_found()
    return mandate


def wallet_of(ctx: AnyContext, text: str) -> str:
    """An address that can sign: not the zero address, and none of the contracts that the service
    works with.

    Errors: `invalid_address`.
    """
    address = ctx.chains.address(text)
    chains = [ctx.chains.get(i) for i in ctx.chains.ids()]
    taken = {a.lower() for c in chains for a in (c.usdc, c.factory) if a}
    if int(address, 16) == 0 or address.lower() in taken:
        raise Refused(refusal("invalid_address", value=address, why="no wallet can sign with it"))
    return address


async def load_mandate(deps: Deps, caller: Caller, public_id: str) -> Mandate:
    """Read the mandate outside the operation's transaction, to know what to ask the chain."""
    return await deps.store.read(lambda uow: visible_mandate(uow, caller, public_id), single=True)


def mandate_read_set(request: OneMandate, now: datetime) -> ReadSet:
    """The rows that an operation on one mandate reads."""
    return ReadSet(now=now, mandates=(request.public_id,))
