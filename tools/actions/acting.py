"""Acting: the call that an act means is checked, signed and stored once for its key, then sent and
followed.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from domain.agents.key_rules import AgentCall
from domain.agents.sent_calls import SentBytes, SentCall
from domain.chain_facts import Call, SendingFacts, SignedTransaction, Transaction
from domain.mandates.mandate import Mandate
from domain.mandates.markets import from_config, market_of
from domain.money import ZERO, Usdc
from domain.ports import Chain
from domain.reads.event_rows import ledger_row
from domain.refusals import Refused, invalid, refusal
from domain.rules.action_checks import remaining
from domain.rules.revert_refusals import reverts
from storage.sql import Duplicate
from storage.unit_of_work import UnitOfWork
from tools.actions.act_models import ActIn, ActionIn, ActOut
from tools.actions.act_steps import HELD_NEXT
from tools.actions.execute_call import (
    EXECUTE_GAS,
    ExecuteCallIn,
    ExecuteFacts,
    ExecuteOut,
    execute_call,
    gas_limit,
    gather_execute,
)
from tools.actions.sending import (
    WAITS,
    Followed,
    Follower,
    Sign,
    behind,
    check_gas,
    in_ms,
    refuse_taken_approval,
)
from tools.context.access import agent_mandate, check_forfeit, load_mandate, visible_mandate
from tools.context.market_calls import ContractCall
from tools.context.snapshot_loader import (
    GatheredFacts,
    chain_or_none,
    load_snapshot,
    simulation_if_readable,
    vault_if_readable,
)
from tools.dispatch.request_context import request_context
from tools.dispatch.storage_allowance import written
from tools.model.operation import Caller, Deps, HandlerResult

REPLAYED: Final = {"Idempotent-Replayed": "true"}


class Unsigned(Exception):
    """The call still has to be signed, by a key that is not here; `answer` is what stands without
    that, where it was sent with a lower fee.
    """

    def __init__(self, sender: str, call: AgentCall):
        super().__init__(call.vault)
        self.sender, self.call = sender, call
        self.answer: HandlerResult[ActOut] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    execute: ExecuteFacts
    sending: SendingFacts | None
    problem: Refused | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Acting:
    """One act on its way."""

    deps: Deps
    caller: Caller
    request: ActIn
    sign: Sign
    until_ms: int

    async def answer(self) -> HandlerResult[ActOut]:
        """Act once for this key, or say what became of it."""
        is_repeat = True
        while True:
            stored = await self.deps.store.read(self._stored)
            if stored is not None:
                try:
                    done = await self._follower().follow(stored)
                except Unsigned as unsigned:
                    waits = Followed(call=stored, outcome="pending", why=WAITS)
                    unsigned.answer = await self._answered(waits, is_repeat=True)
                    raise
                if not done.is_void:
                    return await self._answered(done, is_repeat=is_repeat)
                await self._drop(stored)
            is_repeat = False
            held = await self._checked_and_stored()
            if held is not None:
                return held

    # -- a call that was stored

    def _stored(self, uow: UnitOfWork) -> SentCall | None:
        """The call of this key. Errors: `not_found`, `idempotency_key_reused`."""
        request, agent_id = self.request, self.caller.user_id or ""
        visible_mandate(uow, self.caller, request.public_id)
        stored = uow.sent_calls.find(agent_id, request.public_id, request.idempotency_key)
        if stored is not None and stored.request_hash != _request_hash(request.action):
            raise Refused(refusal("idempotency_key_reused"))
        return stored

    def _follower(self) -> Follower:
        return Follower(
            deps=self.deps,
            caller=self.caller,
            sign=self.sign,
            until_ms=self.until_ms,
            renew=self._again,
        )

    async def _drop(self, call: SentCall) -> None:
        """Forget a call that can never be mined: what it took is free again."""
        await written(self.deps, self.caller, lambda uow: uow.sent_calls.remove(call))

    async def _settle_used(self, chain: Chain, sender: str, nonce: int) -> None:
        """Record what became of the agent's earlier calls whose nonces are used, which nobody has
        asked for since.
        """
        agent_id = self.caller.user_id or ""
        calls = await self.deps.store.read(
            lambda uow: uow.sent_calls.open_before(agent_id, chain.chain_id, sender, nonce)
        )
        for call in calls:
            with suppress(Refused):
                if (await self._follower().settle(call)).is_void:
                    await self._drop(call)

    def _again(self, uow: UnitOfWork, mandate: Mandate, stored: SentCall) -> AgentCall:
        """The call that was stored, out of its own bytes."""
        chain = self.deps.chains.get(stored.chain_id)
        signed = chain.signed_transaction(stored.newest.raw)
        if signed is not None and self._forfeits:
            return self._stop_call(mandate, signed.transaction)
        reservation = uow.reservations.of_action(mandate.public_id, stored.action_hash)
        call = None if signed is None else chain.execution(signed.transaction.data)
        if signed is None or call is None or reservation is None:
            raise Refused(refusal("conflict", why="The call cannot be made again."))
        return self._agent_call(uow, mandate, call, reservation.approval_id, signed.transaction)

    # -- a call that was not

    async def _checked_and_stored(self) -> HandlerResult[ActOut] | None:
        """Check, sign and store the call; the answer where the owner is asked. None where it is
        stored, or another one was before it with the same key or nonce.
        """
        deps, caller = self.deps, self.caller
        mandate = await load_mandate(deps, caller, self.request.public_id)
        chain = chain_or_none(deps, mandate)
        request = None if self._forfeits else self._execute_request(mandate)
        facts = await self._gathered(mandate, chain, request)
        if chain is not None and facts.sending is not None:
            sender, nonce = mandate.agent_address or "", facts.sending.nonce
            await self._settle_used(chain, sender, nonce)
            first = await deps.store.read(
                lambda uow: uow.sent_calls.with_nonce(chain.chain_id, sender, nonce)
            )
            if first is not None:
                if await self._follower().push(first):
                    return None
                raise behind(first, caller)
        now = deps.clock.now()
        made = await written(deps, caller, lambda uow: self._checked(uow, now, request, facts))
        if isinstance(made, HandlerResult):
            return made
        signed = await self.sign(mandate, made)
        try:
            await written(deps, caller, lambda uow: self._store(uow, made, signed))
        except Duplicate:
            if in_ms(0) >= self.until_ms:
                raise Refused(refusal("tx_pending", tx_hash=signed.tx_hash)) from None
        return None

    @property
    def _forfeits(self) -> bool:
        """True where the agent gives its mandate back."""
        return self.request.action.kind == "forfeit"

    def _execute_request(self, mandate: Mandate) -> ExecuteCallIn:
        """The call that the action means; by its market's name the calldata is made here."""
        action, why = self.request.action, self.request.why
        if action.kind == "call":
            _only(action, "target", "data", "approve_amount")
            if action.target is None or action.data is None:
                missing = "target" if action.target is None else "data"
                raise invalid(f"action.{missing}", "a call has a target and data")
            pulled = ZERO if action.approve_amount is None else action.approve_amount
            return _call_in(mandate, action.target, action.data, pulled, why)
        if action.kind in ("fund", "drain"):
            _only(action, "amount_usdc")
            purse = ExecuteCallIn(public_id=mandate.public_id, purse=action.kind, why=why)
            return purse.model_copy(update={"amount_usdc": action.amount_usdc})
        amount, is_exit = action.amount_usdc, action.kind == "exit"
        _only(action, "market", "amount_usdc", *(("share_bps",) if is_exit else ()))
        if action.market is None or (amount is None) == (action.share_bps is None):
            missing = "market" if action.market is None else "amount_usdc"
            raise invalid(f"action.{missing}", f"to {action.kind} takes a market and an amount")
        if amount is not None and amount <= ZERO:
            raise invalid("action.amount_usdc", "more than 0")
        markets = from_config(self.deps.config.markets)
        market = market_of(action.market, markets, mandate.chain_id)
        if amount is None or is_exit:
            named = ExecuteCallIn(public_id=mandate.public_id, market=market.id, why=why)
            portion = {"amount_usdc": amount, "share_bps": action.share_bps}
            return named.model_copy(update=portion)
        recipe, chain = market.entry(), self.deps.chains.get(mandate.chain_id)
        # Before there is a vault every check fails that needs one, whatever the calldata names.
        vault, usdc = mandate.vault_address or market.address or "", chain.usdc or ""
        data = chain.function_call(recipe.function, recipe.arguments(amount, vault, usdc))
        return _call_in(mandate, market.address or "", data, amount, why)

    async def _gathered(
        self, mandate: Mandate, chain: Chain | None, request: ExecuteCallIn | None
    ) -> _Facts:
        """The facts that the checks look at. A chain that cannot be asked for the rest is told of
        after them: the refusals are those of the call, in its order.
        """
        with self.deps.chains.request_deadline():
            if request is None:
                execute = await self._gathered_stop(mandate, chain)
            else:
                execute = await gather_execute(self.deps, self.caller, request)
            if chain is None or mandate.agent_address is None:
                return _Facts(execute=execute, sending=None, problem=None)
            try:
                sending = await chain.sending_facts(mandate.agent_address)
            except Refused as refused:
                return _Facts(execute=execute, sending=None, problem=refused)
        return _Facts(execute=execute, sending=sending, problem=None)

    async def _gathered_stop(self, mandate: Mandate, chain: Chain | None) -> ExecuteFacts:
        """The vault now, and what its stop() would do."""
        vault = await vault_if_readable(chain, mandate)
        stop = ContractCall(target=mandate.vault_address or "", data="0x")
        if chain is None or vault is None or not vault.exists:
            return ExecuteFacts(vault=vault, call=stop)
        call = chain.vault_call(vault.address, "stop")
        tried = await simulation_if_readable(chain, replace(call, sender=mandate.agent_address))
        return ExecuteFacts(vault=vault, simulation=tried, call=stop)

    def _checked(
        self, uow: UnitOfWork, now: datetime, request: ExecuteCallIn | None, facts: _Facts
    ) -> AgentCall | HandlerResult[ActOut]:
        """The call to sign, checked and reserved; the answer where it waits for the owner."""
        if request is None:
            return self._checked_stop(uow, facts)
        ctx = request_context(
            uow, self.deps, self.caller, now, request=request, facts=facts.execute
        )
        mandate = visible_mandate(uow, self.caller, request.public_id)
        made = facts.execute.call
        action = made.target, made.data, request.pulls
        refuse_taken_approval(uow, ctx, mandate, *action)
        reply = execute_call(uow, ctx)
        if isinstance(reply, HandlerResult):
            return self._held(reply.body)
        call = Call(mandate.chain_id, reply.to or "", reply.data or "")
        transaction = _transaction(mandate, facts, call, reply.gas)
        return self._agent_call(uow, mandate, action, reply.approval_id, transaction)

    def _checked_stop(self, uow: UnitOfWork, facts: _Facts) -> AgentCall:
        """The vault's stop(), checked as `mandate_forfeit` checks it."""
        _only(self.request.action)
        mandate = agent_mandate(uow, self.caller, self.request.public_id, lock=True)
        check_forfeit(mandate, facts.execute.vault)
        tried, chain = facts.execute.simulation, self.deps.chains.get(mandate.chain_id)
        if tried is not None and not tried.ok:
            raise Refused(reverts(tried.revert))
        call = chain.vault_call(mandate.vault_address or "", "stop")
        return self._stop_call(mandate, _transaction(mandate, facts, call, gas_limit(tried)))

    def _stop_call(self, mandate: Mandate, transaction: Transaction) -> AgentCall:
        vault, data = mandate.vault_address or "", transaction.data
        return AgentCall(vault=vault, target="", data=data, amount=ZERO, transaction=transaction)

    def _agent_call(
        self,
        uow: UnitOfWork,
        mandate: Mandate,
        action: tuple[str, str, Usdc],
        approval_id: str | None,
        transaction: Transaction,
    ) -> AgentCall:
        """The call, (target, data, amount), with the owner's signature where the vault asks for
        one.
        """
        target, data, amount = action
        item = None if approval_id is None else uow.approvals.get(mandate.public_id, approval_id)
        signature = None if item is None else item.signature
        return AgentCall(
            vault=mandate.vault_address or "",
            target=self.deps.chains.address(target),
            data=data,
            amount=amount,
            transaction=transaction,
            until=item.until if item is not None and signature is not None else None,
            approval=signature,
        )

    def _held(self, reply: ExecuteOut) -> HandlerResult[ActOut]:
        if reply.remaining is None:
            raise TypeError("a held call says what remains")
        answer = ActOut(
            outcome="held",
            remaining=reply.remaining,
            approval_url=reply.approval_url,
            approval=reply.approval,
            asked_by=reply.asked_by,
            expires_at=reply.expires_at,
            next=list(HELD_NEXT),
        )
        return HandlerResult(answer, 202)

    def _store(self, uow: UnitOfWork, call: AgentCall, signed: SignedTransaction) -> None:
        """Keep the signed bytes before they are sent. Errors: `Duplicate`."""
        request, now = self.request, self.deps.clock.now()
        chain = self.deps.chains.get(call.transaction.chain_id)
        uow.sent_calls.add(
            SentCall(
                agent_id=self.caller.user_id or "",
                public_id=request.public_id,
                key=request.idempotency_key,
                request_hash=_request_hash(request.action),
                chain_id=call.transaction.chain_id,
                sender=signed.sender.lower(),
                nonce=signed.transaction.nonce,
                action_hash=chain.action_hash(
                    call.vault, call.target or call.vault, call.data, call.amount
                ),
                stored_at=now,
                sent=(SentBytes(signed.raw, signed.tx_hash, now),),
                why=request.why,
            )
        )

    # -- the answer

    async def _answered(self, done: Followed, *, is_repeat: bool) -> HandlerResult[ActOut]:
        deps, now = self.deps, self.deps.clock.now()
        mandate = await load_mandate(deps, self.caller, self.request.public_id)
        vault = await vault_if_readable(chain_or_none(deps, mandate), mandate)
        facts = GatheredFacts(vault=vault)

        def read(uow: UnitOfWork) -> ActOut:
            ctx = request_context(uow, deps, self.caller, now, request=self.request)
            snapshot = load_snapshot(uow, ctx, mandate, facts, events=0)
            call, tx_hash = done.call, done.call.tx_hash or done.call.newest.tx_hash
            rows = uow.ledger.by_tx(mandate.public_id, tx_hash) if call.event_id else []
            mine = next((e for e in rows if e.event_id == call.event_id), None)
            return ActOut(
                outcome=done.outcome,
                tx_hash=tx_hash,
                event=None if mine is None else ledger_row(mine),
                remaining=remaining(snapshot),
                reason=done.why,
            )

        answer = await deps.store.read(read)
        status = 202 if done.outcome == "pending" else 200
        return HandlerResult(answer, status, headers=REPLAYED if is_repeat else {})


def _transaction(mandate: Mandate, facts: _Facts, call: Call, gas: int | None) -> Transaction:
    """The transaction of a call, at the account's next nonce. Errors: `gas_needed`, and what the
    chain was not asked for.
    """
    if facts.problem is not None or facts.sending is None:
        raise facts.problem or Refused(refusal("not_configured", what="the mandate's chain"))
    sending = facts.sending
    transaction = Transaction(
        chain_id=call.chain_id,
        to=call.to,
        data=call.data,
        value=0,
        nonce=sending.nonce,
        gas=gas or EXECUTE_GAS,
        max_fee=sending.max_fee,
        tip=sending.tip,
    )
    check_gas(transaction, mandate.agent_address or "", sending.balance)
    return transaction


def _call_in(
    mandate: Mandate, target: str, data: str, amount: Usdc, why: str | None
) -> ExecuteCallIn:
    return ExecuteCallIn(
        public_id=mandate.public_id, target=target, data=data, approve_amount=amount, why=why
    )


def _only(action: ActionIn, *names: str) -> None:
    """Refuse the fields of the other kinds."""
    for name in set(ActionIn.model_fields) - {"kind", *names}:
        if getattr(action, name) is not None:
            raise invalid(f"action.{name}", f"no field of kind {action.kind}")


def _request_hash(action: ActionIn) -> str:
    """SHA-256 of what is to be done."""
    raw = {n: None if v is None else str(v) for n, v in action}
    return hashlib.sha256(json.dumps(raw, sort_keys=True).encode()).hexdigest()
