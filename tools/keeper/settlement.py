"""Settlement: settles a mandate once, from chain facts only."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Final

from pydantic import Field

from domain.chain_facts import Call, PurseState, VaultFunction, VaultState
from domain.mandates.mandate import Mandate, MandateAttributes, Status
from domain.money import Usdc
from domain.next_steps import KEEPER, NextStep
from domain.ports import Chain
from domain.refusals import Refused, refusal
from domain.rules.unwind_window import UNWIND_WINDOW
from storage.unit_of_work import UnitOfWork
from tools.dispatch.request_context import request_context
from tools.keeper.block_time import newest
from tools.keeper.ingest import ingest_receipt
from tools.model.fields import Nothing, OneMandate
from tools.model.operation import (
    Caller,
    Deps,
    ExternalEffect,
    Operation,
    RequestContext,
    ResponseModel,
)
from tools.model.switches import switches

log = logging.getLogger("wallet.keeper")
AT_THE_FLOOR: Final = 3


class SettledOut(ResponseModel):
    """The mandate after the keeper's transactions, and their hashes."""

    mandate: MandateAttributes
    transactions: list[str]
    fee_paid: Usdc
    fee_owed: Usdc = Field(
        description="what the agent is still owed: paying it would revert now; the keeper tries "
        "again"
    )


@dataclass(frozen=True, slots=True)
class SettlementTxs:
    """The keeper's settlement transactions, the fee that they paid out, and the remainder."""

    transactions: tuple[str, ...]
    fee_paid: Usdc
    fee_owed: Usdc


def settleable_mandate(uow: UnitOfWork, ctx: RequestContext[OneMandate, None]) -> Mandate:
    """The mandate, where it may be settled at all.

    Errors: `not_found`, `wrong_status`.
    """
    mandate = uow.mandates.get(ctx.request.public_id)
    if mandate is None:
        raise Refused(refusal("not_found", what="mandate"))
    if mandate.vault_address is None or mandate.status not in (
        Status.WORKING,
        Status.STOPPED,
        Status.SETTLED,
    ):
        raise Refused(refusal("wrong_status", status=mandate.status.value, action="settling it"))
    return mandate


async def settle(deps: Deps, caller: Caller, mandate: Mandate) -> SettlementTxs:
    """Send settle() and payAgent() where they are due; the record becomes settled from the vault's
    logs alone.

    A refusal between the two frees the key of the call: the vault itself does neither twice.
    """
    chain = deps.chains.get(mandate.chain_id)
    vault = await newest(deps, chain, mandate)
    if not is_closed(mandate, vault):
        action = "settling it before its vault is closed"
        raise Refused(refusal("wrong_status", status=mandate.status.value, action=action))
    sent: list[str] = []
    if not vault.settled:
        if not vault.withdrawable:
            until = vault.lock_until
            raise Refused(refusal("withdraw_locked", until=until, retry_at=until))
        mandate = await _drain_purse(deps, chain, mandate, vault, sent)
        mandate = await send_for(deps, chain, mandate, "settle", sent)
        vault = await newest(deps, chain, mandate)
    owed = left = vault.fee_owed
    if owed:
        await send_for(deps, chain, mandate, "payAgent", sent)
        left = (await newest(deps, chain, mandate)).fee_owed
    if vault.settled:
        await _sweep_purse(deps, chain, mandate, sent)
    return SettlementTxs(tuple(sent), owed - left, left)


async def _drain_purse(
    deps: Deps, chain: Chain, mandate: Mandate, vault: VaultState, sent: list[str]
) -> Mandate:
    """Take what lies in the purse back into the closed vault, so that the settlement counts it,
    where the keeper does that.

    Errors: `would_revert` where nothing can be taken out now, while the owner or the agent may
    still do so: a settlement is for good.
    """
    state = await _filled_purse(deps, chain, mandate)
    if state is None or mandate.purse is None:
        return mandate
    dry = await deps.store.read(lambda uow: switches(uow, deps.defaults).stop_line_dry_run)
    if not drains(mandate, vault, dry=dry):
        log.warning("%s settles with %s in its purse", mandate.public_id, state.balance)
        return mandate
    hub, data = mandate.purse.hub, chain.purse_call("drain")
    mandate = await send_for(deps, chain, mandate, "unwind", sent, hub, data)
    left = await _filled_purse(deps, chain, mandate)
    if left is not None and left.balance >= state.balance and not window_over(mandate, vault):
        raise Refused(refusal("would_revert", why="its purse cannot be emptied"))
    return mandate


def drains(mandate: Mandate, vault: VaultState, *, dry: bool) -> bool:
    """Whether the keeper takes what lies in the purse back before it settles: not in dry run, and
    not after a floor stop whose terms keep what is open for the owner to decide.
    """
    keeps = vault.stop_reason == AT_THE_FLOOR and mandate.on_floor == "keep"
    return not (dry or keeps)


async def _sweep_purse(deps: Deps, chain: Chain, mandate: Mandate, sent: list[str]) -> None:
    """Send the owner what lies in the purse of a settled vault."""
    if await _filled_purse(deps, chain, mandate) is None or mandate.purse is None:
        return
    call = chain.sweep_call(mandate.purse.hub, mandate.vault_address or "")
    await _send(deps, chain, mandate, call, "sweep", sent)


async def _filled_purse(deps: Deps, chain: Chain, mandate: Mandate) -> PurseState | None:
    """The mandate's purse, where there is enough in it to be worth the gas."""
    if not mandate.has_purse:
        return None
    known = await deps.store.read(lambda uow: uow.chainlog.purses_of(mandate.public_id))
    states = await chain.purse_states([p.address for p in known])
    return next((s for s in states.values() if s.is_filled), None)


def settled_body(
    uow: UnitOfWork, ctx: RequestContext[OneMandate, None], mandate: Mandate, sent: SettlementTxs
) -> SettledOut:
    """The mandate as the vault's logs left it."""
    now = (uow.mandates.get(mandate.public_id) or mandate).attributes()
    paid, owed = sent.fee_paid, sent.fee_owed
    hashes = list(sent.transactions)
    return SettledOut(mandate=now, transactions=hashes, fee_paid=paid, fee_owed=owed)


async def send_for(
    deps: Deps, chain: Chain, mandate: Mandate, function: VaultFunction, sent: list[str], *args: Any
) -> Mandate:
    """Send a vault call with the keeper's key, and take its logs in. What would revert now is not
    sent, so that it costs no gas (a blacklisted agent, a silent probe); the mandate is then given
    back as it is.

    The claim is the vault's own once-only; the effect is a transaction; completing is taking its
    logs in.
    Errors: `not_configured` without a key.
    """
    call = chain.vault_call(mandate.vault_address or "", function, *args)
    return await _send(deps, chain, mandate, call, function, sent)


async def _send(
    deps: Deps, chain: Chain, mandate: Mandate, call: Call, function: str, sent: list[str]
) -> Mandate:
    if deps.keeper is None:
        raise Refused(refusal("not_configured", what="transactions of its keeper"))
    try:
        receipt = await deps.keeper.send(call)
    except Refused as refused:
        if refused.refusal.kind.code != "would_revert":
            raise
        reason = refused.refusal.reason
        log.warning("%s: %s() would revert now: %s", mandate.public_id, function, reason)
        return mandate
    sent.append(receipt.tx_hash)
    now = deps.clock.now()

    def complete(uow: UnitOfWork) -> Mandate:
        current = uow.mandates.get(mandate.public_id, lock=True) or mandate
        ctx = request_context(uow, deps, Caller("keeper"), now, request=Nothing())
        return ingest_receipt(uow, ctx, chain, current, receipt) if receipt.ok else current

    return await deps.store.write(complete)


def is_closed(mandate: Mandate, vault: VaultState) -> bool:
    """Whether the vault was stopped, or its term is over by the time of its chain."""
    return vault.stopped or (mandate.ends_at is not None and vault.block.at >= mandate.ends_at)


def due(mandate: Mandate, vault: VaultState) -> bool:
    """True where the keeper has something to send: a closed vault that is not settled, or a fee
    that is not paid.

    A probe that does not answer locks nothing on chain, so that the owner is never held back. The
    house settles what nobody measured only when the three days are over in which the agent may
    still take out what it earned.
    """
    if not is_closed(mandate, vault) or not vault.exists:
        return False
    if vault.settled:
        return vault.fee_owed > Usdc(0)
    return vault.withdrawable and (vault.measured or window_over(mandate, vault))


def window_over(mandate: Mandate, vault: VaultState) -> bool:
    """True once the three days after the close are over in which the agent may still unwind."""
    stopped_at = mandate.stopped_at if vault.stopped else None
    ends = [at for at in (stopped_at, mandate.ends_at) if at is not None]
    return bool(ends) and vault.block.at >= min(ends) + UNWIND_WINDOW


AGAIN: Final = NextStep(
    "Ask again under another Idempotency-Key: the vault settles once and pays once",
    None,
    "POST /wallet/mandates/{public_id}/settle",
    KEEPER,
)


def scope(caller: Caller, request: OneMandate) -> str:
    """One key space a mandate, for all keepers."""
    return f"keeper:settle:{request.public_id}"


OPERATIONS: Final = (
    Operation(
        name="keeper_settle",
        title="Settle a mandate",
        summary="Settle once, from chain facts only: sends settle() and payAgent() where they are "
        "due.",
        auth="keeper",
        route=("POST", "/wallet/mandates/{public_id}/settle"),
        request_model=OneMandate,
        response_model=SettledOut,
        effect=ExternalEffect(
            begin=settleable_mandate,
            act=settle,
            finish=settled_body,
            reconcile=(AGAIN,),
            bound_s=300,
        ),
        idempotency=scope,
        writes=True,
        idempotent=True,
        family="keeper",
        refusals=(
            "not_found",
            "wrong_status",
            "withdraw_locked",
            "would_revert",
            "not_configured",
            "chain_unavailable",
            "outcome_unknown",
        ),
    ),
)
