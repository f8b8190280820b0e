"""Creating the vault: one transaction to the factory that carries the signed terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.replies import Json, Record
from app.views.components import clauses, refusal, sending
from app.views.components.clauses import ClauseView
from app.views.components.refusal import RefusalView
from app.views.components.sending import SendingView
from app.words.text import _
from app.words.untrusted_text import agent_of


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateView:
    """The page; `sending` is None where there is nothing to send, and `problem` or `message` says
    why.
    """

    public_id: str
    budget: str
    agent: Record
    signed_at: str | None
    clauses: tuple[ClauseView, ...]
    factory: str
    vault: str | None
    sending: SendingView | None
    signed_terms: Mapping[str, object]
    message: str
    problem: RefusalView | None


def view(read: Json, terms: Json, call: Json | None, refused: Json | None) -> CreateView:
    """`call` of owner_create_call, or the block of its refusal."""
    m = read["mandate"]
    public_id, ready = m["public_id"], call is not None and call["call"] is not None
    message = ""
    if call is not None and not ready:
        message = _("No vault factory is set for this network yet. The operator has to act.")
    return CreateView(
        public_id=public_id,
        budget=m["budget_usdc"],
        agent=agent_of(m),
        signed_at=m["signed_at"],
        clauses=clauses.view(terms["clauses"]),
        factory=terms["typed_data"]["domain"]["verifyingContract"],
        vault=call["predicted_vault"] if call is not None and ready else None,
        sending=sending.view("create", public_id, [call], button=_("Create the vault"), steps=())
        if call is not None and ready
        else None,
        signed_terms={"typed_data": terms["typed_data"], "digest": terms["digest"]},
        message=message,
        problem=None if refused is None else refusal.view(refused, public_id),
    )
