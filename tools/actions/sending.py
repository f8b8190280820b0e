"""Sending: a signed call of a vault is stored, sent, waited for, and its result recorded; asked
again by its key it is the same bytes, or the same call with a higher fee.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Literal, cast, get_args

import anyio

from domain.agents.key_rules import AgentCall
from domain.agents.sent_calls import SentBytes, SentCall
from domain.chain_facts import Receipt, SignedTransaction, Transaction
from domain.ledger.events.event import Reporter
from domain.mandates.mandate import Mandate
from domain.money import Usdc
from domain.next_steps import AGENT, NextStep
from domain.ports import Chain
from domain.refusals import Refused, refusal
from storage.unit_of_work import UnitOfWork
from tools.actions.event_reports import ACTS, EventIn, report_event
from tools.actions.refusal_reports import RefusedIn, proves, report_refusal
from tools.context.access import agent_mandate
from tools.context.snapshot_loader import GatheredFacts
from tools.dispatch.request_context import request_context
from tools.dispatch.storage_allowance import written
from tools.keeper.reservations import release_reverted
from tools.model.operation import AnyContext, Caller, Deps

POLL_MS: Final = 250
STUCK: Final = timedelta(seconds=30)
REPLACEMENTS_MAX: Final = 5

Sign = Callable[[Mandate, AgentCall], Awaitable[SignedTransaction]]
"""Signs a call of the mandate's vault; what comes back is checked already. Errors: Refused."""

Seen = Literal["landed", "reverted", "pending", "unknown"]
UNASKED: Final = "The chain could not be asked; repeat the call with the same idempotency_key."
REPEAT_FIRST: Final = NextStep(
    "Repeat the act of detail.public_id whose idempotency_key is in detail: after 30 seconds it is "
    "sent with a higher fee",
    "mandate_act",
    "POST /wallet/mandates/{public_id}/act",
    AGENT,
    needs_rest=True,
)
TAKEN: Final = (
    "Another transaction of this address took its nonce. Repeat the call with the same "
    "idempotency_key: once enough blocks follow that transaction, it is done anew."
)
WAITS: Final = "It is sent, and no block holds it yet; repeat it with the same idempotency_key."


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """A stored call as far as it is known now; `why` says what an open outcome rests on. `is_void`:
    another transaction has its nonce for good, so that it can never be mined.
    """

    call: SentCall
    outcome: Seen
    why: str | None = None
    is_void: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Follower:
    """Follows stored calls until a time of the event loop; `renew` makes the call of a stored one
    again, to be signed with a higher fee.
    """

    deps: Deps
    caller: Caller
    sign: Sign
    until_ms: int
    renew: Callable[[UnitOfWork, Mandate, SentCall], AgentCall]

    async def follow(self, call: SentCall) -> Followed:
        """Send the stored bytes and wait for their receipt, and record it. Errors: none of the
        chain's.
        """
        chain = self.deps.chains.get(call.chain_id)
        try:
            return await self._until_mined(chain, call)
        except Refused as refused:
            if refused.code not in ("chain_unavailable", "not_configured"):
                raise
        if call.outcome is not None:
            return Followed(call=call, outcome=call.outcome)
        return Followed(call=call, outcome="unknown", why=UNASKED)

    async def push(self, call: SentCall) -> bool:
        """Send the bytes that hold an account's next nonce, whosever they are, and wait until the
        nonce is used; False where it is not in time. Errors: `chain_unavailable`.
        """
        chain = self.deps.chains.get(call.chain_id)
        await self._broadcast(chain, call)
        while (await chain.sending_facts(call.sender)).nonce <= call.nonce:
            if _now_ms() >= self.until_ms:
                return False
            await anyio.sleep(POLL_MS / 1_000)
        return True

    async def settle(self, call: SentCall) -> Followed:
        """The result of a call whose nonce is used, recorded; nothing is sent. Errors:
        `chain_unavailable`.
        """
        chain = self.deps.chains.get(call.chain_id)
        return await self._mined(chain, call) or await self._open(chain, call)

    async def _until_mined(self, chain: Chain, call: SentCall) -> Followed:
        is_sent = False
        while True:
            mined = await self._mined(chain, call)
            if mined is not None:
                return mined
            if not is_sent:
                try:
                    call = await self._with_higher_fee(chain, call)
                finally:
                    # Where another machine signs, what was signed goes on meanwhile.
                    await self._broadcast(chain, call)
                is_sent = True
                continue
            if _now_ms() >= self.until_ms:
                return await self._open(chain, call)
            await anyio.sleep(POLL_MS / 1_000)

    async def _mined(self, chain: Chain, call: SentCall) -> Followed | None:
        """The result by a receipt of any of its bytes; None where none is mined."""
        for sent in reversed(call.sent):
            receipt = await chain.receipt(sent.tx_hash)
            if receipt is not None:
                return await self._ended(chain, call, receipt)
        return None

    async def _broadcast(self, chain: Chain, call: SentCall) -> None:
        """Hand the bytes with the highest fee to the nodes. Errors: `gas_needed` where no node
        takes them and the account cannot pay for them, `chain_unavailable`.
        """
        signed = _signed(chain, call)
        try:
            await chain.broadcast(signed)
        except Refused:
            facts = await chain.sending_facts(call.sender)
            if facts.nonce <= call.nonce:
                check_gas(signed.transaction, signed.sender, facts.balance)
            raise

    async def _open(self, chain: Chain, call: SentCall) -> Followed:
        facts = await chain.sending_facts(call.sender)
        if facts.nonce <= call.nonce:
            return Followed(call=call, outcome="pending", why=WAITS)
        used_by = await chain.transaction_of_nonce(call.sender, call.nonce)
        if used_by is None or used_by in {sent.tx_hash for sent in call.sent}:
            mined = await self._mined(chain, call)
            return mined or Followed(call=call, outcome="unknown", why=TAKEN)
        return Followed(call=call, outcome="unknown", why=TAKEN, is_void=True)

    async def _with_higher_fee(self, chain: Chain, call: SentCall) -> SentCall:
        """The call, replaced by its fee alone where it waits for long; as it was where the signer
        does not sign it any more.
        """
        now = self.deps.clock.now()
        if now - call.newest.at < STUCK or len(call.sent) > REPLACEMENTS_MAX:
            return call
        try:
            mandate, again = await self.deps.store.read(lambda uow: self._again(uow, call))
            before = _signed(chain, call).transaction
            balance = (await chain.sending_facts(call.sender)).balance
            check_gas(before.with_higher_fee(), call.sender, balance)
            signed = await self.sign(mandate, with_transaction(again, before.with_higher_fee()))
        except Refused:
            return call
        if not signed.transaction.is_fee_bump_of(before):
            return call
        return await written(
            self.deps, self.caller, lambda uow: self._replace(uow, call, signed, now)
        )

    def _again(self, uow: UnitOfWork, call: SentCall) -> tuple[Mandate, AgentCall]:
        mandate = agent_mandate(uow, self.caller, call.public_id)
        return mandate, self.renew(uow, mandate, call)

    @staticmethod
    def _replace(
        uow: UnitOfWork, call: SentCall, signed: SignedTransaction, now: datetime
    ) -> SentCall:
        """Store the bytes with the higher fee, unless another has done so."""
        kept = uow.sent_calls.find(call.agent_id, call.public_id, call.key, lock=True)
        if kept is None or len(kept.sent) != len(call.sent):
            return kept or call
        newer = kept.replaced_by(SentBytes(signed.raw, signed.tx_hash, now))
        uow.sent_calls.save(newer)
        return newer

    async def _ended(self, chain: Chain, call: SentCall, receipt: Receipt) -> Followed:
        outcome: Literal["landed", "reverted"] = "landed" if receipt.ok else "reverted"
        if (call.outcome, call.tx_hash) != (outcome, receipt.tx_hash):
            now = self.deps.clock.now()
            call = await written(
                self.deps, self.caller, lambda uow: self._record(uow, chain, call, receipt, now)
            )
        return Followed(call=call, outcome=outcome)

    def _record(
        self, uow: UnitOfWork, chain: Chain, call: SentCall, receipt: Receipt, now: datetime
    ) -> SentCall:
        """Record a result and report it once, in one transaction."""
        mandate = agent_mandate(uow, self.caller, call.public_id, lock=True)
        kept = uow.sent_calls.find(call.agent_id, call.public_id, call.key, lock=True) or call
        outcome: Literal["landed", "reverted"] = "landed" if receipt.ok else "reverted"
        if (kept.outcome, kept.tx_hash) == (outcome, receipt.tx_hash):
            return kept
        if receipt.ok:
            event_id = self._landed(uow, mandate, kept, receipt, now)
        else:
            event_id = self._reverted(uow, chain, mandate, receipt, now)
        kept = kept.ended(outcome, receipt.tx_hash, event_id)
        uow.sent_calls.save(kept)
        return kept

    def _landed(
        self, uow: UnitOfWork, mandate: Mandate, call: SentCall, receipt: Receipt, now: datetime
    ) -> str | None:
        """Report what the vault's log tells of the call."""
        vault = (mandate.vault_address or "").lower()
        log = next(
            (g for g in receipt.logs if (g.name, g.address.lower()) == ("Executed", vault)), None
        )
        if log is None:
            return None
        rows = uow.ledger.by_tx(mandate.public_id, receipt.tx_hash)
        mine = (e for e in rows if e.kind in ACTS and e.reported_by is Reporter.AGENT)
        if (by_agent := next(mine, None)) is not None:
            return by_agent.event_id
        spent, back = Usdc(log.args["spent"]), Usdc(log.args["returned"])
        kind: Literal["buy", "sell", "move"] = "move"
        if spent != back:
            kind = "buy" if spent > back else "sell"
        target, selector = str(log.args["target"]), str(log.args["selector"])
        entry = mandate.contract_target(target, selector)
        at = {"market": entry.market if entry else None, "address": target, "selector": selector}
        payload = {"target": {n: v for n, v in at.items() if v is not None}, "why": call.why}
        request = EventIn(
            public_id=mandate.public_id,
            kind=kind,
            amount_usdc=max(spent - back, back - spent),
            tx_hash=receipt.tx_hash,
            payload={n: v for n, v in payload.items() if v is not None},
        )
        ctx = request_context(uow, self.deps, self.caller, now, request=request)
        return report_event(uow, ctx).body.event.event_id

    def _reverted(
        self, uow: UnitOfWork, chain: Chain, mandate: Mandate, receipt: Receipt, now: datetime
    ) -> str | None:
        """Record the refused attempt with its proof, which ends the reservation."""
        error = "" if receipt.revert is None else receipt.revert.name
        reasons = get_args(RefusedIn.model_fields["reason"].annotation)
        request = RefusedIn(
            public_id=mandate.public_id,
            reason=cast("Literal['server_guard']", error if error in reasons else "server_guard"),
            source="act",
            check=error or None,
            tx_hash=receipt.tx_hash,
        )
        facts = GatheredFacts(receipt=receipt)
        ctx = request_context(uow, self.deps, self.caller, now, request=request, facts=facts)
        try:
            return report_refusal(uow, ctx).body.event.event_id
        except Refused as refused:
            if refused.code != "rate_limited":
                raise
        # As many as a day takes are recorded: it reverted all the same.
        if proves(receipt, mandate):
            release_reverted(uow, chain, mandate, receipt)
        return None


def refuse_taken_approval(
    uow: UnitOfWork, ctx: AnyContext, mandate: Mandate, target: str, data: str, amount: Usdc
) -> None:
    """Refuse an action whose approval a call that was signed here has taken: it is good for one,
    and stays open until the chain reader has seen that one. Errors: `conflict`.
    """
    if mandate.vault_address is None:
        return
    chain, agent_id = ctx.chains.get(mandate.chain_id), mandate.agent_id or ""
    key = chain.action_hash(mandate.vault_address, ctx.chains.address(target), data, amount)
    for item in uow.approvals.of_action(mandate.public_id, key):
        if item.status_at(ctx.now) != "approved" or item.decided_at is None:
            continue
        taken = uow.sent_calls.of_action(agent_id, mandate.public_id, key, item.decided_at)
        if taken is not None:
            why = f"Transaction {taken.newest.tx_hash} took the owner's approval of this action; "
            why += "the owner can be asked again once the chain's row of it is in."
            raise Refused(refusal("conflict", why=why, retry_safe=True))


def behind(first: SentCall, caller: Caller) -> Refused:
    """The refusal of an act while another waits; the agent's own is named, to be repeated."""
    detail = {"public_id": first.public_id, "idempotency_key": first.key}
    mine, tx_hash = first.agent_id == caller.user_id, first.newest.tx_hash
    if not mine:
        return Refused(refusal("tx_pending", tx_hash=tx_hash))
    return Refused(refusal("tx_pending", tx_hash=tx_hash, detail=detail, next=(REPEAT_FIRST,)))


def check_gas(transaction: Transaction, sender: str, balance: int) -> None:
    """Check that an account can pay for a transaction's gas. Errors: `gas_needed`."""
    missing = transaction.gas * transaction.max_fee - balance
    if missing > 0:
        detail = {"address": sender, "amount_wei": str(missing)}
        raise Refused(refusal("gas_needed", detail, chain_id=transaction.chain_id, detail=detail))


def in_ms(span_ms: int) -> int:
    """A time of the event loop that lies so many milliseconds ahead."""
    return _now_ms() + span_ms


def _now_ms() -> int:
    return round(anyio.current_time() * 1_000)


def with_transaction(call: AgentCall, transaction: Transaction) -> AgentCall:
    """The same call in another transaction."""
    return replace(call, transaction=transaction)


def _signed(chain: Chain, call: SentCall) -> SignedTransaction:
    """The stored bytes with the highest fee, read again."""
    signed = chain.signed_transaction(call.newest.raw)
    if signed is None:
        raise Refused(refusal("internal"))
    return signed
