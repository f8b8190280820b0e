"""The agent's act in one call, signed by the key that the service holds or by the agent's own
machine.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from domain.agents.key_rules import GAS_MOST, AgentCall
from domain.chain_facts import SignedTransaction
from domain.mandates.mandate import Mandate
from domain.next_steps import AGENT, NextStep
from domain.refusals import Refused, SigningRefused, invalid, refusal
from tools.actions.act_models import ActIn, ActOut, ActPreparedOut, ActSendIn, TransactionTold
from tools.actions.act_steps import act_steps, signer_refuses
from tools.actions.acting import Acting, Unsigned
from tools.actions.execute_call import EXECUTE_REFUSALS
from tools.actions.sending import Sign, in_ms
from tools.context.access import load_mandate
from tools.model.operation import HEAVY, Caller, Deps, HandlerResult, Operation
from tools.model.shutdown import ENDING

WAIT_MS: Final = 20_000


# -- whose key signs


async def _act(deps: Deps, caller: Caller, request: ActIn, sign: Sign) -> HandlerResult[ActOut]:
    acting = Acting(deps=deps, caller=caller, request=request, sign=sign, until_ms=in_ms(WAIT_MS))
    with deps.shutdown.ends():
        try:
            return await acting.answer()
        except Refused as refused:
            raise Refused(act_steps(refused.refusal)) from refused
    # Like a process that is killed here, but that the agent hears of it.
    raise Refused(act_steps(refusal("storage_unavailable", why=ENDING)))


async def act(deps: Deps, caller: Caller, request: ActIn) -> HandlerResult[ActOut]:
    """Act with the key that the service holds for the agent."""
    mandate = await load_mandate(deps, caller, request.public_id)
    signer, agent_id = deps.agent_signer, caller.user_id or ""
    named = agent_id, request.public_id, request.idempotency_key
    now = deps.clock.now()
    key = await deps.store.read(lambda uow: uow.hosted_keys.get(agent_id, now))
    stored = await deps.store.read(lambda uow: uow.sent_calls.find(*named))
    address = (mandate.agent_address or "").lower()
    is_held = key is not None and not key.ended_at and key.address.lower() == address
    what = f"signing for the agent's address on chain {mandate.chain_id}"
    no_key = Refused(refusal("not_configured", what=what, next=(LOCAL, EXECUTE)))
    # What was signed while there was a key is followed without one.
    if stored is None and (signer is None or not is_held):
        raise no_key

    async def sign(mandate: Mandate, call: AgentCall) -> SignedTransaction:
        """Signed by the signer, and read back. Errors: `signer_refused`, `not_configured`."""
        if signer is None or key is None or not is_held:
            raise no_key
        if mandate.signed is None:
            raise Refused(refusal("signer_refused", why="the mandate is not signed"))
        targets = mandate.allowed_targets
        try:
            raw = await signer.agent_signed(key.name, mandate.signed, targets, call)
        except SigningRefused as refused:
            raise Refused(signer_refuses(refused, deps.clock.now())) from None
        signed = deps.chains.get(mandate.chain_id).signed_transaction(raw)
        if signed is None or (signed.sender, signed.transaction) != (
            mandate.agent_address,
            call.transaction,
        ):
            raise Refused(refusal("signer_refused", why="what it signed is another transaction"))
        return signed

    return await _act(deps, caller, request, sign)


async def prepare(deps: Deps, caller: Caller, request: ActIn) -> HandlerResult[ActPreparedOut]:
    """Check the act, and give the transaction to sign."""

    async def sign(mandate: Mandate, call: AgentCall) -> SignedTransaction:
        raise Unsigned(mandate.agent_address or "", call)

    try:
        reply = await _act(deps, caller, request, sign)
    except Unsigned as unsigned:
        sent = unsigned.call.transaction
        to_sign = TransactionTold(
            chain_id=sent.chain_id,
            to=sent.to,
            data=sent.data,
            value=str(sent.value),
            nonce=sent.nonce,
            gas=sent.gas,
            max_fee=str(sent.max_fee),
            tip=str(sent.tip),
        )
        known = unsigned.answer
        answer, headers = (None, {}) if known is None else (known.body, known.headers)
        prepared = ActPreparedOut(to_sign=to_sign, sender=unsigned.sender, answer=answer)
        return HandlerResult(prepared, 200, headers=headers)
    return HandlerResult(ActPreparedOut(answer=reply.body), 200, headers=reply.headers)


async def send(deps: Deps, caller: Caller, request: ActSendIn) -> HandlerResult[ActOut]:
    """Act with what the agent's own machine signed."""

    async def sign(mandate: Mandate, call: AgentCall) -> SignedTransaction:
        """The given bytes, where they are this very call. Errors: `conflict`."""
        chain, expected = deps.chains.get(mandate.chain_id), call.transaction
        signed = chain.signed_transaction(request.signed)
        if signed is None or signed.sender != mandate.agent_address:
            raise invalid("signed", f"not signed by {mandate.agent_address}, or no EIP-1559 call")
        sent = signed.transaction
        if sent.gas > GAS_MOST or not replace(sent, gas=expected.gas).does_the_same(expected):
            raise Refused(refusal("conflict", why=OTHER_CALL, retry_safe=True, next=(PREPARE,)))
        return signed

    return await _act(deps, caller, request, sign)


OTHER_CALL: Final = "The signed transaction is not the one that this act takes now."
PREPARE: Final = NextStep(
    "Ask for the transaction again, sign that and send it",
    None,
    "POST /wallet/mandates/{public_id}/act/prepare",
    AGENT,
)
LOCAL: Final = NextStep(
    "Start `wallet mcp --url … --agent-key-file FILE`, which signs on your machine", by=AGENT
)
EXECUTE: Final = NextStep(
    "Ask for the calldata, and sign and send it yourself",
    "mandate_execute_call",
    "GET /wallet/mandates/{public_id}/execute-call",
    AGENT,
)
OWN_REFUSALS: Final = (
    *EXECUTE_REFUSALS,
    "gas_needed",
    "tx_pending",
    "idempotency_key_reused",
)
OUTCOMES: Final = {
    200: "It landed or reverted, or its outcome is not known",
    202: "Held for the owner, or not mined yet",
}
OPERATIONS: Final = (
    Operation(
        name="mandate_act",
        title="Act in one call",
        summary="Enter or exit a market by its name, or make a call, through the vault: checked, "
        "signed by the agent's held key, sent, waited for and reported (a revert too), in "
        "one call. Above the owner's approval amount it answers held with approval_url; "
        "the same call with the same key acts once it is approved. After a lost answer "
        "repeat it with the SAME key (never sent twice), or ask mandate_reconcile by it.",
        auth="agent",
        route=("POST", "/wallet/mandates/{public_id}/act"),
        request_model=ActIn,
        response_model=ActOut,
        weight=HEAVY,
        pass_through=act,
        writes=True,
        idempotent=True,
        on_mcp=True,
        statuses=OUTCOMES,
        refusals=(*OWN_REFUSALS, "signer_refused"),
    ),
    Operation(
        name="mandate_act_prepare",
        title="Prepare an act",
        summary="The same checks as mandate_act, for a key that is held elsewhere: the "
        "transaction to sign, or the answer where nothing is to be signed.",
        auth="agent",
        route=("POST", "/wallet/mandates/{public_id}/act/prepare"),
        request_model=ActIn,
        response_model=ActPreparedOut,
        weight=HEAVY,
        pass_through=prepare,
        writes=True,
        idempotent=True,
        statuses={200: "The transaction to sign, or the answer"},
        refusals=OWN_REFUSALS,
    ),
    Operation(
        name="mandate_act_send",
        title="Send a signed act",
        summary="The signed transaction of a prepared act: checked to be that very call of the "
        "agent's address, stored, sent, waited for and reported.",
        auth="agent",
        route=("POST", "/wallet/mandates/{public_id}/act/send"),
        request_model=ActSendIn,
        response_model=ActOut,
        weight=HEAVY,
        pass_through=send,
        writes=True,
        idempotent=True,
        statuses=OUTCOMES,
        refusals=OWN_REFUSALS,
    ),
)
