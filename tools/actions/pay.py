"""The agent's payment of a seller's 402, out of the mandate's purse (x402, version 2)."""

from __future__ import annotations

from typing import Final

from domain.agents.key_rules import PurseBill
from domain.mandates.bills import Bill
from domain.mandates.mandate import Mandate
from domain.refusals import Refused, SigningRefused, refusal
from domain.rules.rule_table import BARS
from tools.actions.act_steps import signer_refuses
from tools.actions.pay_models import PayIn, PayOut
from tools.actions.paying import Paying
from tools.model.operation import HEAVY, Caller, Deps, HandlerResult, Operation


async def pay(deps: Deps, caller: Caller, request: PayIn) -> HandlerResult[PayOut]:
    """Make the bill of a 402 and sign it where the agent's key is held; else take its signature."""
    signer, now = deps.agent_signer, deps.clock.now()
    key = None
    if signer is not None and request.signature is None:
        key = await deps.store.read(lambda uow: uow.hosted_keys.get(caller.user_id or "", now))

    async def sign(mandate: Mandate, bill: Bill) -> str:
        """Signed by the signer. Errors: `signer_refused`, `not_configured`."""
        if signer is None or key is None or mandate.signed is None:
            raise Refused(refusal("signer_refused", why="there is no key for it"))
        signable = PurseBill(vault=mandate.vault_address or "", purse=bill.purse, bill=bill.terms)
        targets = mandate.allowed_targets
        try:
            return await signer.agent_signed_bill(key.name, mandate.signed, targets, signable)
        except SigningRefused as refused:
            raise Refused(signer_refuses(refused, deps.clock.now())) from None

    held = None if key is None or key.ended_at is not None else key.address
    return await Paying(
        deps=deps, caller=caller, request=request, sign=sign, held_key=held
    ).answer()


REFUSALS: Final = (
    "not_found",
    "invalid_number",
    "invalid_address",
    "invalid_signature",
    *(rule.refusal for rule, _ in BARS),
    "target_not_allowed",
    "payee_not_allowed",
    "over_per_payment",
    "over_daily_cap",
    "mandate_budget_exceeded",
    "purse_low",
    "owner_declined",
    "approval_expired",
    "wrong_status",
    "conflict",
    "idempotency_key_reused",
    "rate_limited",
    "signer_refused",
    "not_configured",
    "chain_unavailable",
)
OPERATIONS: Final = (
    Operation(
        name="mandate_pay",
        title="Pay a web service",
        summary="Pay a seller's 402 (x402 version 2) out of the mandate's purse: checked against "
        "the terms and the purse, it answers typed_data; sign it and call again with signature for "
        "the payment to send. Where your key is held, one call does both. Above the owner's "
        "approval amount it answers pending_approval; the same call pays once approved. "
        "After a lost answer repeat it: the same bill, never a second.",
        auth="agent",
        route=("POST", "/wallet/mandates/{public_id}/pay"),
        request_model=PayIn,
        response_model=PayOut,
        weight=HEAVY,
        pass_through=pay,
        writes=True,
        idempotent=True,
        on_mcp=True,
        verbatim=frozenset({"payment_required"}),
        statuses={
            200: "The transfer to sign, or the payment to send",
            202: "Held for the owner: pending_approval",
        },
        refusals=REFUSALS,
    ),
)
