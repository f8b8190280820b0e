"""The agent's call: checked calldata of `execute`, or an approval request to the owner."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, TypeAlias

from pydantic import Field

from domain.chain_facts import Simulation
from domain.mandates.actions import Action, selector_of
from domain.mandates.approvals import OPEN, Approval, ApprovalItem, Reservation
from domain.mandates.mandate import Mandate
from domain.mandates.purse_entries import purse_function, purse_of
from domain.mandates.purses import PurseFunction
from domain.money import ZERO, Usdc
from domain.refusals import Refused, invalid, refusal
from domain.rules.action_checks import (
    ACTION_CODES,
    CheckResult,
    RemainingNow,
    remaining,
    retry_after_decline,
)
from domain.rules.amount_rules import asks_owner
from domain.rules.mark_policy import refuses
from domain.rules.revert_refusals import ASKS_THE_OWNER, pulled, reverts
from domain.rules.snapshot import MandateSnapshot
from domain.times import Timestamp
from storage.unit_of_work import UnitOfWork
from tools.actions.held_call import (
    NEXT,
    AskedBy,
    NextTold,
    approval_url,
    asked_by,
    keep_pending,
)
from tools.actions.vault_action import (
    CheckTold,
    DecodedCall,
    judged,
    require_known_keeping,
    require_same_approval,
    signed_item,
    simulate_action,
    vault_call,
)
from tools.context.access import agent_mandate, load_mandate, mandate_read_set, wrong_status
from tools.context.approval_keeping import approval_keeping_if_readable, with_approval_keeping
from tools.context.market_calls import (
    BY_NAME_REFUSALS,
    CallIn,
    ContractCall,
    ExitOut,
    first_that_passes,
    purse_call,
    requested_calls,
    with_answer,
)
from tools.context.snapshot_loader import (
    GatheredFacts,
    chain_or_none,
    load_snapshot,
    require_chain,
    vault_if_readable,
)
from tools.model.fields import Lines
from tools.model.operation import (
    HEAVY,
    Caller,
    Deps,
    HandlerResult,
    Operation,
    RequestContext,
    ResponseModel,
)
from tools.model.serialization import wire
from tools.model.shared_models import Simulated, simulated

GAS_MARGIN_PERCENT: Final = 30
EXECUTE_GAS: Final = 700_000


class ExecuteCallIn(CallIn):
    """The action an agent wants to take through the vault."""

    approve_amount: Usdc = Field(
        default=ZERO,
        description="USDC the target may pull, needed wherever USDC leaves the vault: for "
        "deposit(assets, receiver) it is assets",
    )
    approval_id: str | None = Field(default=None, max_length=64, description="an approved item")
    why: Lines | None = Field(
        default=None,
        max_length=2_000,
        description="reason, for the owner",
    )
    purse: PurseFunction | None = Field(
        default=None, description="in place of target and data; fund takes amount_usdc"
    )
    dry_run: bool = Field(default=False, description="the checks alone")

    @property
    def pulls(self) -> Usdc:
        """USDC that the target may pull: of a purse that is funded, what goes in."""
        by_name = self.amount_usdc if self.purse == "fund" else None
        return self.approve_amount if by_name is None else by_name


class ExecuteOut(ResponseModel):
    """Calldata to sign and send; with dry_run the checks; or an item that waits for the owner."""

    chain_id: int | None = None
    sender: str | None = Field(default=None, serialization_alias="from")
    to: str | None = None
    data: str | None = None
    value: str | None = None
    decoded: DecodedCall | None = None
    checks: list[CheckTold] | None = None
    simulation: Simulated | None = Field(
        default=None,
        description="what the chain said of the call; null where it could not be asked, which no "
        "refusal follows from",
    )
    gas: int | None = Field(
        default=None, description="a gas limit to send it with; null where it is not known"
    )
    approval_id: str | None = None
    exit: ExitOut | None = Field(default=None, description="of a market that is left by its name")
    action_hash: str | None = Field(
        default=None,
        description="names this very call to mandate_reconcile: keccak256(abi.encode(vault, "
        "target, keccak256(data), approveAmount)); null while there is no vault",
    )
    status: Literal["pending_approval"] | None = None
    approval: ApprovalItem | None = None
    approval_url: str | None = Field(
        default=None, description="pending_approval: the page on which the owner decides"
    )
    asked_by: AskedBy | None = None
    expires_at: Timestamp | None = Field(
        default=None, description="pending_approval: until when the owner can decide"
    )
    next: list[NextTold] | None = None
    dry_run: Literal[True] | None = None
    needs_approval: bool | None = None
    reserved_until: Timestamp | None = None
    remaining: RemainingNow | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecuteFacts(GatheredFacts):
    """The vault now, the call and what it would do; whether the vault keeps approvals, and the item
    whose signature the tried call carries.
    """

    call: ContractCall
    vault_keeps_approvals: bool | None = None
    tried: str | None = None


ExecuteContext: TypeAlias = RequestContext[ExecuteCallIn, ExecuteFacts]


async def gather_execute(deps: Deps, caller: Caller, request: ExecuteCallIn) -> ExecuteFacts:
    """Read the vault and simulate the call before the transaction."""
    amount = request.pulls
    if amount < ZERO:
        raise Refused(refusal("invalid_number", value=str(amount), why="it is negative"))
    mandate = await load_mandate(deps, caller, request.public_id)
    calls: tuple[ContractCall, ...]
    if request.purse is None:
        calls = await requested_calls(deps, mandate, request)
    else:
        calls = (purse_call(deps, mandate, request, request.purse),)
    by_name = calls[0].exit is not None or request.purse is not None
    if by_name and request.approve_amount != ZERO:
        raise invalid("approve_amount", "what is named says by itself what it pulls")
    chain = chain_or_none(deps, mandate)
    vault, item = await vault_if_readable(chain, mandate), None
    keeps = await approval_keeping_if_readable(deps, mandate)
    if chain is None or vault is None or not vault.exists or not mandate.agent_address:
        return ExecuteFacts(vault=vault, vault_keeps_approvals=keeps, call=calls[0])
    if keeps:
        action = chain.action(vault.address, calls[0].target, calls[0].data, amount)
        approval_id, now = request.approval_id, deps.clock.now()
        item = await deps.store.read(
            lambda uow: signed_item(uow, mandate.public_id, action, approval_id, now)
        )

    async def simulate(call: ContractCall) -> Simulation | None:
        action = chain.action(vault.address, call.target, call.data, amount)
        return await simulate_action(chain, mandate, action, call.data, item)

    call, tried = await first_that_passes(calls, simulate)
    if tried is not None and tried.ok:
        call = await with_answer(chain, mandate, call)
    return ExecuteFacts(
        vault=vault,
        simulation=tried,
        vault_keeps_approvals=keeps,
        call=call,
        tried=item.approval_id if item else None,
    )


def execute_call(uow: UnitOfWork, ctx: ExecuteContext) -> ExecuteOut | HandlerResult[ExecuteOut]:
    """Calldata of `execute`, after the vault's own checks and the owner's approval (contract 6)."""
    request, requested = ctx.request, ctx.facts.call
    # The row is locked so that parallel calls see each other's reservations and pending items.
    mandate = agent_mandate(uow, ctx.caller, request.public_id, lock=True)
    mandate = with_approval_keeping(uow, mandate, ctx.facts.vault_keeps_approvals)
    chain = require_chain(ctx, mandate)
    target, data = requested.target, requested.data
    snapshot = load_snapshot(uow, ctx, mandate, ctx.facts, events=0)
    vault, amount = mandate.vault_address, request.pulls
    action = None if vault is None else chain.action(vault, target, data, amount)
    key = None if action is None else action.action_hash
    judgement = judged(snapshot, target, data, amount, key)
    decoded = judgement.decoded(chain, mandate)
    asking = asks_owner(snapshot, amount)
    exit = None if requested.exit is None else requested.exit.shown(snapshot)
    if request.dry_run:
        return ExecuteOut(
            dry_run=True,
            action_hash=key,
            decoded=decoded,
            checks=judgement.shown_checks(),
            exit=exit,
            simulation=simulated(ctx.facts.simulation),
            needs_approval=asking,
            remaining=remaining(snapshot),
        )
    for check in judgement.checks:
        if check.refusal is not None:
            raise Refused(check.refusal)
    _refuse_drain(uow, ctx, mandate, requested)
    _refuse_revert(ctx, judgement.checks, asking=asking)
    if vault is None or action is None:
        raise wrong_status(mandate, "acting through its vault")
    if mandate.agent_address is None:
        what = f"the agent's address on chain {mandate.chain_id}"
        raise Refused(refusal("not_configured", what=what))
    approved = _approval(uow, ctx, snapshot, action, decoded)
    if approved is not None and not _lets_act(approved, mandate, ctx.now):
        return HandlerResult(_held(ctx, snapshot, approved), 202)
    require_same_approval(ctx.facts.tried, mandate, approved)
    _refuse_revert(ctx, judgement.checks, asking=False)
    approval_id = approved.approval_id if approved else None
    until = _reserve(uow, ctx, action, mandate.agent_address, approval_id)
    call = vault_call(chain, vault, action, data, approved)
    return ExecuteOut(
        chain_id=call.chain_id,
        sender=mandate.agent_address,
        to=call.to,
        data=call.data,
        value=call.value,
        decoded=decoded,
        checks=judgement.shown_checks(),
        exit=exit,
        simulation=simulated(ctx.facts.simulation),
        gas=gas_limit(ctx.facts.simulation),
        approval_id=approval_id,
        action_hash=key,
        reserved_until=until,
    )


def _refuse_drain(
    uow: UnitOfWork, ctx: ExecuteContext, mandate: Mandate, call: ContractCall
) -> None:
    """Refuse to empty a purse while a bill waits for what lies in it. Errors: `conflict`."""
    purse = purse_of(mandate.allowed_targets)
    if purse_function(purse, call.target, selector_of(call.data)) != "drain":
        return
    open_bills = uow.bills.open(mandate.public_id, ctx.now)
    if open_bills:
        until = datetime.fromtimestamp(max(b.valid_before for b in open_bills), UTC)
        why = "A bill of the purse can still be paid; what is left can be taken back after it."
        raise Refused(refusal("conflict", why=why, retry_at=until))


def _held(ctx: ExecuteContext, snapshot: MandateSnapshot, item: Approval) -> ExecuteOut:
    """The answer that waits for the owner: all that a person needs to decide, or to be shown."""
    return ExecuteOut(
        status="pending_approval",
        approval=item.as_item(ctx.now),
        approval_url=approval_url(ctx.config, item.public_id, item.approval_id),
        asked_by=asked_by(snapshot.mandate),
        expires_at=item.expires_at,
        next=list(NEXT),
        action_hash=item.action_hash,
        remaining=remaining(snapshot),
    )


def _reserve(
    uow: UnitOfWork, ctx: ExecuteContext, action: Action, sender: str, approval_id: str | None
) -> datetime:
    """Note that calldata is handed out, after which block, and until when its amount is held."""
    newest = ctx.facts.simulation or ctx.facts.vault
    reservation = Reservation(
        public_id=ctx.request.public_id,
        action=action,
        made_at=ctx.now,
        expires_at=ctx.now + timedelta(seconds=ctx.config.reservation_s),
        sender=sender,
        block=None if newest is None else newest.block.number,
        approval_id=approval_id,
    )
    uow.reservations.put(reservation)
    return reservation.expires_at


def _refuse_revert(ctx: ExecuteContext, checks: list[CheckResult], *, asking: bool) -> None:
    """Refuse what the chain says would revert; `asking`: the owner is asked before it can pass.

    Errors: the code of the vault's error, else `would_revert`.
    """
    simulation = ctx.facts.simulation
    if simulation is None or simulation.ok:
        return
    if asking and simulation.revert is not None and simulation.revert.name == ASKS_THE_OWNER:
        return
    amount, pulls, revert = (
        ctx.request.pulls,
        pulled(ctx.facts.call.data),
        simulation.revert,
    )
    stale = refuses(ctx.facts.vault, revert) if amount == ZERO else None
    raise Refused(reverts(revert, checks, pulls=pulls, approved=amount, stale=stale))


def gas_limit(simulation: Simulation | None) -> int | None:
    """A gas limit with a margin; probes are given more than an estimate finds (chain.md)."""
    if simulation is None or simulation.gas is None:
        return None
    return max(simulation.gas * (100 + GAS_MARGIN_PERCENT) // 100, EXECUTE_GAS)


def _approval(
    uow: UnitOfWork,
    ctx: ExecuteContext,
    snapshot: MandateSnapshot,
    action: Action,
    decoded: DecodedCall,
) -> Approval | None:
    """The item that covers the action, approved or waiting for the owner; None where the owner is
    not asked.
    """
    mandate, now, key = snapshot.mandate, ctx.now, action.action_hash
    named = None
    if (approval_id := ctx.request.approval_id) is not None:
        named = uow.approvals.get(mandate.public_id, approval_id)
        if named is None or named.action_hash != key or named.status_at(now) in ("expired", "used"):
            raise Refused(refusal("approval_expired", approval_id=approval_id))
    if not asks_owner(snapshot, action.amount):
        return None
    items = [named] if named else uow.approvals.of_action(mandate.public_id, key)
    require_known_keeping(require_chain(ctx, mandate), mandate)
    for item in items:
        status = item.status_at(now)
        if status in OPEN:
            return item
        until = retry_after_decline(snapshot, item.decided_at) if item.decided_at else now
        if status == "declined" and now < until:
            detail = {"approval": wire(item.as_item(now))}
            raise Refused(refusal("owner_declined", retry_at=until, detail=detail))
    return _request_approval(uow, ctx, snapshot, action, decoded)


def _lets_act(item: Approval, mandate: Mandate, now: datetime) -> bool:
    """True for an approved item; what was approved before it was known that the vault asks for a
    signature waits for one.
    """
    unsigned = bool(mandate.approvals_on_chain) and item.signature is None
    return item.status_at(now) == "approved" and not unsigned


def _request_approval(
    uow: UnitOfWork,
    ctx: ExecuteContext,
    snapshot: MandateSnapshot,
    action: Action,
    decoded: DecodedCall,
) -> Approval:
    """Make a pending item."""
    mandate, now = snapshot.mandate, ctx.now
    # Nothing is decided once the mandate has ended.
    until = now + timedelta(seconds=ctx.config.approval_valid_s)
    item = Approval(
        approval_id=ctx.ids.short("ap_"),
        public_id=mandate.public_id,
        status="pending",
        target={"market": decoded.market, "address": decoded.target, "selector": decoded.selector},
        data=ctx.facts.call.data,
        action_hash=action.action_hash,
        approve_amount_usdc=action.amount,
        why=ctx.request.why,
        requested_at=now,
        expires_at=until if mandate.ends_at is None else min(until, mandate.ends_at),
        data_hash=action.data_hash,
    )
    keep_pending(uow, ctx, mandate, item)
    return item


EXECUTE_REFUSALS: Final = (
    "not_found",
    "invalid_number",
    "invalid_address",
    *ACTION_CODES,
    "would_revert",
    "owner_declined",
    "approval_expired",
    "conflict",
    "chain_unavailable",
    "rate_limited",
    "wrong_status",
    "not_configured",
    *BY_NAME_REFUSALS,
)


OPERATIONS: Final = (
    Operation(
        name="mandate_execute_call",
        title="Get calldata to act",
        summary="Checked calldata of the vault's execute(target, data, approveAmount) to sign "
        "and send yourself. Above the owner's approval amount it answers pending_approval; once "
        "approved, where the vault keeps approvals, executeApproved with the owner's signature. "
        "What would revert is refused.",
        auth="agent",
        route=("GET", "/wallet/mandates/{public_id}/execute-call"),
        long=True,
        request_model=ExecuteCallIn,
        response_model=ExecuteOut,
        weight=HEAVY,
        handler=execute_call,
        gather=gather_execute,
        read_set=mandate_read_set,
        writes=True,
        on_mcp=True,
        statuses={
            200: "Calldata, or with dry_run the checks",
            202: "Held for the owner: pending_approval, no calldata",
        },
        refusals=EXECUTE_REFUSALS,
    ),
)
