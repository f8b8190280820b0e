"""Paying: the bill of a purse is checked and stored once for its request, then signed."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from domain.chain_facts import PurseState, VaultState
from domain.mandates.approvals import Approval
from domain.mandates.bills import Bill
from domain.mandates.mandate import Mandate
from domain.mandates.payment_requests import (
    IDENTIFIER,
    VERSION,
    WINDOW_S,
    Payable,
    PaymentRequest,
    read_payment_request,
)
from domain.mandates.purses import LONGEST_S, PurseTerms
from domain.money import ZERO, Usdc
from domain.ports import Chain
from domain.refusals import Refused, invalid, refusal
from domain.rules.action_checks import refuse_barred, retry_after_decline
from domain.rules.amount_rules import asks_owner
from domain.rules.payment_rules import PurseView, check_host, check_payment
from domain.rules.snapshot import MandateSnapshot
from domain.times import day_of
from storage.repositories.bills import OPEN_MOST
from storage.unit_of_work import UnitOfWork
from tools.actions.event_reports import require_credits
from tools.actions.held_call import NEXT, approval_url, asked_by, keep_pending
from tools.actions.pay_models import (
    BillTold,
    PayIn,
    PaymentPayload,
    PayOut,
    PurseTold,
    TransferTypedData,
)
from tools.actions.vault_action import require_known_keeping
from tools.context.access import agent_mandate, load_mandate, wrong_status
from tools.context.approval_keeping import vault_keeps_approvals, with_approval_keeping
from tools.context.snapshot_loader import (
    GatheredFacts,
    chain_or_none,
    load_snapshot,
    signed_purse,
)
from tools.dispatch.exact_numbers import plain
from tools.dispatch.request_context import request_context
from tools.dispatch.storage_allowance import written
from tools.model.operation import AnyContext, Caller, Deps, HandlerResult
from tools.model.serialization import wire

LONGEST_REQUEST: Final = 16_384
UNRECORDED: Final = timedelta(hours=1)
"""How far the chain's rows may be behind for a bill that was paid to count still."""
BEFORE_S: Final = 60
"""A bill is good from so long before it is made: blocks lag behind clocks."""

SignBill = Callable[[Mandate, Bill], Awaitable[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _PaymentFacts:
    """The chain as it was read for this payment, or the reason that it was not."""

    vault: VaultState | None = None
    keeps_approvals: bool | None = None
    state: PurseState | None = None
    payment: PaymentRequest | None = None
    problem: Refused | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """A bill that may be signed."""

    mandate: Mandate
    bill: Bill
    purse: PurseView
    until: int | None = None
    approval: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Paying:
    """One payment on its way; `held_key` is the address of the key that `sign` signs with, None
    where the service holds none.
    """

    deps: Deps
    caller: Caller
    request: PayIn
    sign: SignBill
    held_key: str | None

    async def answer(self) -> HandlerResult[PayOut]:
        """The bill to sign, the payment of a signed one, or the item that waits for the owner."""
        facts = await self._gathered()
        now = self.deps.clock.now()
        made = await written(self.deps, self.caller, lambda uow: self._made(uow, now, facts))
        if isinstance(made, HandlerResult):
            return made
        signature = self.request.signature
        agent = made.mandate.agent_address or ""
        is_held = self.held_key is not None and self.held_key.lower() == agent.lower()
        if made.bill.signature is None and signature is None and is_held:
            signature = await self.sign(made.mandate, made.bill)
        if made.bill.signature is None and signature is not None:
            signed = self._signed(made, signature)
            kept = await written(self.deps, self.caller, lambda uow: self._kept(uow, signed))
            made = replace(made, bill=kept)
        return HandlerResult(self._shown(made), 200)

    # -- what the chain says

    async def _gathered(self) -> _PaymentFacts:
        """Read vault and purse at the newest block: nothing is paid by what was so before.

        Errors: `invalid_request`, `invalid_address`, `not_found`.
        """
        deps, request = self.deps, self.request
        mandate = await load_mandate(deps, self.caller, request.public_id)
        chain = chain_or_none(deps, mandate)
        required = _plain_request(request)
        try:
            with deps.chains.request_deadline():
                payment = await self._payment(chain, mandate, required)
                if chain is None or mandate.vault_address is None:
                    return _PaymentFacts(payment=payment)
                vault = mandate.vault_address
                states = await chain.vault_states([vault], agreed=True)
                keeps = await vault_keeps_approvals(deps, mandate)
                place = signed_purse(chain, replace(mandate, approvals_on_chain=keeps))
                if place is None:
                    return _PaymentFacts(payment=payment)
                state = await self._state(chain, place.address, states.get(vault))
        except Refused as refused:
            if refused.refusal.kind.status < 409:
                raise
            return _PaymentFacts(problem=refused)
        return _PaymentFacts(
            vault=states.get(vault), keeps_approvals=keeps, state=state, payment=payment
        )

    async def _state(self, chain: Chain, purse: str, vault: VaultState | None) -> PurseState | None:
        """The purse at the block of its vault, with which bills are paid by then: no bill that is
        made after this reading can be.
        """
        if vault is None:
            return None
        since, public_id = self.deps.clock.now() - UNRECORDED, self.request.public_id
        known = await self.deps.store.read(
            lambda uow: uow.bills.unsettled(public_id, since, vault.block.at)
        )
        nonces = [bill.nonce for bill in known]
        return (await chain.purse_states([purse], block=vault.block, nonces=nonces)).get(purse)

    async def _payment(
        self, chain: Chain | None, mandate: Mandate, required: Mapping[str, object]
    ) -> PaymentRequest:
        if chain is None or chain.usdc is None:
            what = f"USDC on chain {mandate.chain_id}"
            raise Refused(refusal("not_configured", what=what))
        payable = Payable(
            network=f"eip155:{chain.chain_id}",
            usdc=chain.usdc,
            token=await chain.token_domain(),
            address=self.deps.chains.address,
        )
        return read_payment_request(required, self.request.choose, payable)

    # -- the bill

    def _made(
        self, uow: UnitOfWork, now: datetime, facts: _PaymentFacts
    ) -> _Made | HandlerResult[PayOut]:
        """The bill of this request, stored before it can be paid.

        Errors: those of a payment, and of an item that the owner has not approved.
        """
        request, caller = self.request, self.caller
        ctx = request_context(uow, self.deps, caller, now, request=request)
        mandate = agent_mandate(uow, caller, request.public_id, lock=True)
        mandate = with_approval_keeping(uow, mandate, facts.keeps_approvals)
        snapshot = load_snapshot(uow, ctx, mandate, GatheredFacts(vault=facts.vault), events=0)
        refuse_barred(snapshot)
        if facts.problem is not None or facts.payment is None:
            raise facts.problem or wrong_status(mandate, "paying")
        terms = check_host(snapshot, facts.payment)
        if facts.state is None or facts.vault is None or not facts.vault.exists:
            raise wrong_status(mandate, "paying out of its purse")
        require_known_keeping(self._chain(mandate), mandate)
        purse = _view(uow, mandate, terms, facts.state, now)
        bill = self._existing_bill(uow, purse, now)
        if bill is None:
            if request.signature is not None:
                why = "No open bill is of this request: ask for one without signature first."
                raise Refused(refusal("conflict", why=why, retry_safe=True))
            if len(purse.open_bills) >= OPEN_MOST:  # beyond it none would be counted
                why = f"{OPEN_MOST} bills are open; wait until one is paid or its time is over."
                raise Refused(refusal("conflict", why=why, retry_safe=True))
            check_payment(snapshot, facts.payment, purse, request.max_amount)
            require_credits(uow, ctx, facts.payment.amount, unrecorded=purse.unrecorded)
            bill = self._new(uow, ctx, snapshot, facts.payment, purse)
            purse = replace(purse, open_bills=(*purse.open_bills, bill))
        item = self._item(uow, snapshot, bill)
        if item is not None and not _lets_pay(item, mandate, now):
            return self._held(ctx, mandate, bill, purse, item)
        return _Made(
            mandate=mandate,
            bill=bill,
            purse=purse,
            until=None if item is None else item.until,
            approval=None if item is None else item.signature,
        )

    def _existing_bill(self, uow: UnitOfWork, purse: PurseView, now: datetime) -> Bill | None:
        """The bill that was made of this request. Errors: `idempotency_key_reused`, and `conflict`
        for one that cannot be paid any more.
        """
        request, hashed = self.request, _request_hash(self.request)
        named = self.caller.user_id or "", request.public_id
        if request.idempotency_key is None:
            bill = uow.bills.open_of_request(*named, hashed, now)
            return bill if bill is not None and bill.epoch == purse.state.epoch else None
        bill = uow.bills.find(*named, request.idempotency_key)
        if bill is None:
            return None
        if bill.request_hash != hashed:
            raise Refused(refusal("idempotency_key_reused"))
        shown = _bill_shown(bill, purse.state, now)
        if shown.state != "open":
            why = f"The bill of this key is {shown.state}; another purchase takes another key."
            raise Refused(refusal("conflict", why=why, detail={"bill": wire(shown)}))
        return bill

    def _new(
        self,
        uow: UnitOfWork,
        ctx: AnyContext,
        snapshot: MandateSnapshot,
        payment: PaymentRequest,
        purse: PurseView,
    ) -> Bill:
        """Store a new bill, and the item where the owner is asked."""
        mandate, request, state = snapshot.mandate, self.request, purse.state
        chain, asks = self._chain(mandate), asks_owner(snapshot, payment.amount)
        salt = f"0x{ctx.ids.nonce256():064x}"
        nonce = chain.bill_nonce(state.epoch, payment.resource, payment.pay_to, salt)
        after, before = _window(ctx.now, state, WINDOW_S if asks else payment.window_s)
        bill = Bill(
            bill_id=ctx.ids.short("bl_"),
            public_id=mandate.public_id,
            agent_id=self.caller.user_id or "",
            key=request.idempotency_key or f"request:{nonce}",
            request_hash=_request_hash(request),
            chain_id=mandate.chain_id,
            hub=purse.terms.hub,
            purse=ctx.chains.address(state.address),
            epoch=state.epoch,
            resource=payment.resource,
            host=payment.host,
            pay_to=payment.pay_to,
            amount=payment.amount,
            nonce=nonce,
            salt=salt,
            valid_after=after,
            valid_before=before,
            action_hash="",
            made_at=ctx.now,
            token=payment.token,
            accepted=payment.accepted,
            echoed=payment.echoed,
            why=request.why,
            # Whoever makes a bill again makes it under another nonce.
            payment_identifier=f"pay_{nonce[-32:]}" if payment.takes_identifier else None,
        )
        bill = replace(bill, action_hash=chain.bill_action(bill.purse, bill.terms))
        if asks:
            item = _approval(ctx, mandate, bill)
            keep_pending(uow, ctx, mandate, item)
            bill = replace(bill, approval_id=item.approval_id)
        uow.bills.add(bill)
        return bill

    def _item(self, uow: UnitOfWork, snapshot: MandateSnapshot, bill: Bill) -> Approval | None:
        """The owner's answer to a bill that waited for it. Errors: `owner_declined`,
        `approval_expired`.
        """
        if bill.approval_id is None:
            return None
        item = uow.approvals.get(bill.public_id, bill.approval_id)
        status = "expired" if item is None else item.status_at(snapshot.now)
        if item is None or status == "expired":
            raise Refused(refusal("approval_expired", approval_id=bill.approval_id))
        if status == "declined" and item.decided_at is not None:
            until = retry_after_decline(snapshot, item.decided_at)
            detail = {"approval": wire(item.as_item(snapshot.now))}
            raise Refused(refusal("owner_declined", retry_at=until, detail=detail))
        return item

    def _chain(self, mandate: Mandate) -> Chain:
        return self.deps.chains.get(mandate.chain_id)

    # -- the signature

    def _signed(self, made: _Made, signature: str) -> Bill:
        """The bill with the bytes that its purse takes. Errors: `invalid_signature`."""
        chain, bill, agent = self._chain(made.mandate), made.bill, made.mandate.agent_address
        document = chain.bill_typed_data(bill.purse, bill.token, bill.terms)
        if agent is None or chain.key_of_signature(chain.digest(document), signature) != agent:
            why = "it is not the agent's own key over typed_data"
            raise Refused(refusal("invalid_signature", signer=agent or "nobody", why=why))
        payees = made.purse.terms.payees
        raw = chain.bill_signature(
            bill.terms, signature, payees=payees, until=made.until, approval=made.approval
        )
        return replace(bill, signature=raw)

    def _kept(self, uow: UnitOfWork, signed: Bill) -> Bill:
        """Store the signature before it leaves; the one that was stored first stays."""
        agent_mandate(uow, self.caller, self.request.public_id, lock=True)
        kept = uow.bills.get(signed.public_id, signed.bill_id) or signed
        if kept.signature is not None:
            return kept
        kept = replace(kept, signature=signed.signature)
        uow.bills.save(kept)
        return kept

    # -- the answer

    def _shown(self, made: _Made) -> PayOut:
        bill, chain, now = made.bill, self._chain(made.mandate), self.deps.clock.now()
        state = made.purse.state
        shown = PayOut(bill=_bill_shown(bill, state, now), purse=_purse_shown(made.purse, bill))
        document = TransferTypedData.model_validate(
            chain.bill_typed_data(bill.purse, bill.token, bill.terms)
        )
        if bill.signature is None:
            return shown.model_copy(update={"typed_data": document})
        payment = PaymentPayload.model_validate(
            {
                "x402Version": VERSION,
                "accepted": bill.accepted,
                "payload": {
                    "signature": bill.signature,
                    "authorization": document.message.model_dump(by_alias=True),
                },
                **_echoed(bill),
            }
        )
        raw = json.dumps(wire(payment), separators=(",", ":")).encode()
        header = b64encode(raw).decode()
        return shown.model_copy(update={"payment_payload": payment, "header": header})

    def _held(
        self, ctx: AnyContext, mandate: Mandate, bill: Bill, purse: PurseView, item: Approval
    ) -> HandlerResult[PayOut]:
        answer = PayOut(
            bill=_bill_shown(bill, purse.state, ctx.now),
            purse=_purse_shown(purse, bill),
            status="pending_approval",
            approval=item.as_item(ctx.now),
            approval_url=approval_url(ctx.config, item.public_id, item.approval_id),
            asked_by=asked_by(mandate),
            expires_at=item.expires_at,
            next=list(NEXT),
        )
        return HandlerResult(answer, 202)


def _plain_request(request: PayIn) -> Mapping[str, object]:
    """The seller's 402 as any reader of JSON has it. Errors: `invalid_request`."""
    required = plain(request.payment_required)
    try:
        size = len(json.dumps(required, ensure_ascii=False, allow_nan=False).encode())
    except ValueError:  # UnicodeEncodeError is one
        raise invalid("payment_required", "a text or a number in it is none of JSON") from None
    if size > LONGEST_REQUEST or not isinstance(required, dict):
        raise invalid("payment_required", f"at most {LONGEST_REQUEST} bytes")
    return required


def _request_hash(request: PayIn) -> str:
    """SHA-256 of what is to be bought: a reason and a signature make no other purchase."""
    raw = [_plain_request(request), request.choose, str(request.max_amount)]
    return hashlib.sha256(json.dumps(raw, sort_keys=True).encode()).hexdigest()


def _view(
    uow: UnitOfWork,
    mandate: Mandate,
    terms: PurseTerms,
    state: PurseState,
    now: datetime,
) -> PurseView:
    """The purse with its open bills; those of an epoch before are void, and those whose nonces USDC
    has used are in its balance. What it paid is measured: an agent can sign bills that were not
    made here.
    """
    paid = uow.ledger.state(mandate.public_id).measured.purse.day(day_of(now)).paid
    known = uow.bills.unsettled(mandate.public_id, now - UNRECORDED, state.block.at)
    open_bills = tuple(
        bill
        for bill in known
        if bill.nonce not in state.used
        and bill.epoch == state.epoch
        and bill.valid_before > now.timestamp()
    )
    midnight = _midnight_before(now).timestamp()
    used = (b for b in known if b.nonce in state.used and b.valid_before > midnight)
    return PurseView(
        terms=terms,
        state=state,
        open_bills=open_bills,
        unrecorded=tuple(bill for bill in (*open_bills, *used) if bill.paid_at is None),
        paid_today=Usdc(paid),
    )


def _midnight_before(now: datetime) -> datetime:
    return datetime.fromisoformat(day_of(now)).replace(tzinfo=UTC)


def _window(now: datetime, state: PurseState, window_s: int) -> tuple[int, int]:
    """(valid after, valid before): an hour in all at the most, by the chain's time and by ours."""
    at, block_at = int(now.timestamp()), int(state.block.at.timestamp())
    after = min(at, block_at) - BEFORE_S
    return after, min(at + window_s, after + LONGEST_S)


def _approval(ctx: AnyContext, mandate: Mandate, bill: Bill) -> Approval:
    """The item of a bill that the owner is asked for; its calldata are the bill's own words."""
    until = datetime.fromtimestamp(bill.valid_before, UTC)
    ends = mandate.ends_at
    return Approval(
        approval_id=ctx.ids.short("ap_"),
        public_id=bill.public_id,
        status="pending",
        target={
            "market": None, "address": bill.pay_to, "selector": None, "resource": bill.resource,
        },
        data=ctx.chains.get(bill.chain_id).bill_words(bill.terms),
        action_hash=bill.action_hash,
        approve_amount_usdc=bill.amount,
        why=bill.why,
        requested_at=ctx.now,
        expires_at=until if ends is None else min(until, ends),
    )  # fmt: skip


def _lets_pay(item: Approval, mandate: Mandate, now: datetime) -> bool:
    """True once the owner has approved, with the signature that the purse asks for where the
    factory keeps approvals.
    """
    signed = item.signature is not None or not mandate.approvals_on_chain
    return item.status_at(now) in ("approved", "used") and signed


def _bill_shown(bill: Bill, state: PurseState, now: datetime) -> BillTold:
    """A bill as it is shown; one of an epoch before is void, whether the record knows it or not."""
    at = {n: datetime.fromtimestamp(getattr(bill, n), UTC) for n in ("valid_after", "valid_before")}
    shown = bill.state_at(now)
    return BillTold(
        bill_id=bill.bill_id,
        state="void" if shown == "open" and bill.epoch != state.epoch else shown,
        resource=bill.resource,
        host=bill.host,
        pay_to=bill.pay_to,
        amount_usdc=bill.amount,
        nonce=bill.nonce,
        salt=bill.salt,
        valid_after=at["valid_after"],
        valid_before=at["valid_before"],
        payment_identifier=bill.payment_identifier,
        approval_id=bill.approval_id,
    )


def _purse_shown(purse: PurseView, bill: Bill) -> PurseTold:
    state = purse.state
    return PurseTold(
        address=bill.purse,
        hub=purse.terms.hub,
        balance_usdc=state.balance if state.exists else ZERO,
        reserved_usdc=purse.reserved,
        block=state.block.number,
    )


def _echoed(bill: Bill) -> dict[str, object]:
    """The parts of the 402 that a payment repeats, with the identifier that its seller takes."""
    echoed = dict(bill.echoed)
    extensions = echoed.get("extensions")
    if bill.payment_identifier is None or not isinstance(extensions, Mapping):
        return echoed
    own = extensions[IDENTIFIER]
    info = {**own.get("info", {}), "id": bill.payment_identifier}
    return echoed | {"extensions": {**extensions, IDENTIFIER: {**own, "info": info}}}
