"""Refusal kinds of mandate transitions and transfer reports."""

from __future__ import annotations

from typing import Final

from domain.next_steps import AGENT, OWNER, OWNER_OR_AGENT, WAIT, NextStep
from domain.refusal_kinds.kind import READ_MANDATE, TERMS, RefusalKind

_READ_BALANCES = NextStep(
    "Read the balances",
    "agent_balances",
    "GET /wallet/agents/{agent_id}/balances",
    OWNER_OR_AGENT,
)

KINDS: Final = (
    RefusalKind(
        code="mandate_budget_exceeded",
        status=402,
        who_fixes="owner",
        retry_safe=False,
        sentence="The read costs {cost} credits, {remaining_credits} of today's {budget} are left.",
        next=(WAIT,),
    ),
    RefusalKind(
        code="mandate_signed",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="The mandate is {status}; its terms no longer change.",
        next=(NextStep("Create a new mandate", None, "POST /wallet/mandates", OWNER),),
    ),
    RefusalKind(
        code="wrong_status",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="The mandate is {status}; {action} is not possible from there.",
        next=(READ_MANDATE,),
    ),
    RefusalKind(
        code="not_paused",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="The mandate is not paused.",
        next=(READ_MANDATE,),
    ),
    RefusalKind(
        code="mandate_not_accepted",
        status=409,
        who_fixes="agent",
        retry_safe=False,
        sentence="The mandate is not accepted yet.",
        next=(
            NextStep(
                "Accept the mandate",
                "mandate_accept",
                "POST /wallet/mandates/{public_id}/accept",
                AGENT,
            ),
        ),
    ),
    RefusalKind(
        code="mandate_paused",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="The owner has paused the mandate.",
        next=(
            NextStep(
                "Resume the mandate",
                None,
                "GET /wallet/mandates/{public_id}/resume-call",
                OWNER,
            ),
            READ_MANDATE,
        ),
    ),
    RefusalKind(
        code="mandate_stopped",
        status=409,
        who_fixes="nobody",
        retry_safe=False,
        sentence="The mandate is stopped; a stop is final.",
        next=(READ_MANDATE,),
    ),
    RefusalKind(
        code="mandate_ended",
        status=409,
        who_fixes="nobody",
        retry_safe=False,
        sentence="The mandate ended at {ends_at}.",
        next=(READ_MANDATE,),
    ),
    RefusalKind(
        code="terms_expired",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="The terms were asked for more than 24 hours ago.",
        next=(TERMS,),
    ),
    RefusalKind(
        code="draft_unclear",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="The note behind this draft was not understood whole, and nobody has "
        "corrected it.",
        next=(
            NextStep(
                "Say in typed fields what is meant",
                None,
                "PUT /wallet/mandates/{public_id}",
                OWNER,
            ),
        ),
    ),
    RefusalKind(
        code="agent_not_accepting",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="The agent's policy does not accept mandates.",
        next=(
            NextStep(
                "Set accepts_mandates in its policy",
                None,
                "PUT /wallet/agents/{agent_id}/policy",
                OWNER,
            ),
        ),
    ),
    RefusalKind(
        code="duplicate_transfer",
        status=409,
        who_fixes="agent",
        retry_safe=False,
        sentence="A transfer with hash {tx_hash} on chain {chain_id} is reported already.",
        next=(_READ_BALANCES,),
    ),
    RefusalKind(
        code="insufficient_idle",
        status=409,
        who_fixes="agent",
        retry_safe=False,
        sentence="Idle {asset} on chain {chain_id} is {idle}, the report moves {amount}.",
        next=(_READ_BALANCES,),
    ),
    RefusalKind(
        code="withdraw_locked",
        status=409,
        who_fixes="nobody",
        retry_safe=False,
        sentence="Open positions hold the withdrawal back until {until} at the latest.",
        next=(
            NextStep(
                "Unwind the open positions",
                "mandate_unwind_call",
                "GET /wallet/mandates/{public_id}/unwind-call",
                OWNER_OR_AGENT,
            ),
        ),
    ),
    RefusalKind(
        code="tx_pending",
        status=409,
        who_fixes="nobody",
        retry_safe=True,
        sentence="The chain has not mined {tx_hash} yet. Do not send it again.",
        next=(WAIT,),
    ),
    RefusalKind(
        code="vault_mismatch",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="The transaction does not belong to this mandate's vault: {why}.",
        next=(NextStep("Send the transaction that the call of this mandate made", by=OWNER),),
    ),
)
