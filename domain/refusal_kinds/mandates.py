"""Refusal kinds of mandate transitions and transfer reports."""

from __future__ import annotations

from typing import Final

from domain.next_steps import AGENT, OWNER, OWNER_OR_AGENT, WAIT, NextStep
from domain.refusal_kinds.kind import READ_MANDATE, TERMS, kind

_READ_BALANCES = NextStep(
    "Read the balances",
    "agent_balances",
    "GET /wallet/agents/{agent_id}/balances",
    OWNER_OR_AGENT,
)

KINDS: Final = (
    kind("mandate_budget_exceeded", 402, "owner", WAIT).says(
        "The read costs {cost} credits, {remaining_credits} of today's {budget} are left."
    ),
    kind(
        "mandate_signed",
        409,
        "owner",
        NextStep("Create a new mandate", None, "POST /wallet/mandates", OWNER),
    ).says("The mandate is {status}; its terms no longer change."),
    kind("wrong_status", 409, "owner", READ_MANDATE).says(
        "The mandate is {status}; {action} is not possible from there."
    ),
    kind("not_paused", 409, "owner", READ_MANDATE).says("The mandate is not paused."),
    kind(
        "mandate_not_accepted",
        409,
        "agent",
        NextStep(
            "Accept the mandate",
            "mandate_accept",
            "POST /wallet/mandates/{public_id}/accept",
            AGENT,
        ),
    ).says("The mandate is not accepted yet."),
    kind(
        "mandate_paused",
        409,
        "owner",
        NextStep("Resume the mandate", None, "GET /wallet/mandates/{public_id}/resume-call", OWNER),
        READ_MANDATE,
    ).says("The owner has paused the mandate; the owner's resume lifts it."),
    kind("mandate_stopped", 409, "nobody", READ_MANDATE).says(
        "The mandate is stopped; a stop is final."
    ),
    kind("mandate_ended", 409, "nobody", READ_MANDATE).says("The mandate ended at {ends_at:time}."),
    kind("terms_expired", 409, "owner", TERMS).says(
        "The terms were asked for more than 24 hours ago."
    ),
    kind(
        "draft_unclear",
        409,
        "owner",
        NextStep("Fill in the fields", None, "PUT /wallet/mandates/{public_id}", OWNER),
    ).says("Part of the description was not understood; fill in those fields."),
    kind(
        "agent_not_accepting",
        409,
        "owner",
        NextStep(
            "Set accepts_mandates in its policy",
            None,
            "PUT /wallet/agents/{agent_id}/policy",
            OWNER,
        ),
    ).says("The agent's policy does not accept mandates."),
    kind("duplicate_transfer", 409, "agent", _READ_BALANCES).says(
        "A transfer with hash {tx_hash} on chain {chain_id} is reported already."
    ),
    kind("insufficient_idle", 409, "agent", _READ_BALANCES).says(
        "Idle {asset} on chain {chain_id} is {idle}, the report moves {amount}."
    ),
    kind(
        "withdraw_locked",
        409,
        "nobody",
        NextStep(
            "Close the open positions",
            "mandate_unwind_call",
            "GET /wallet/mandates/{public_id}/unwind-call",
            OWNER_OR_AGENT,
        ),
    ).says("Open positions hold the withdrawal back until {until:time} at the latest."),
    kind("tx_pending", 409, "nobody", WAIT, retry_safe=True).says(
        "The chain has not mined {tx_hash} yet. Do not send it again."
    ),
    kind(
        "vault_mismatch",
        409,
        "owner",
        NextStep("Send the transaction that the call of this mandate made", by=OWNER),
    ).says("The transaction does not belong to this mandate's vault: {why}."),
)
