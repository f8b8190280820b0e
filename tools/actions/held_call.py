"""A held call: what its answer tells, so that an agent can hand it on and a host can show it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from pydantic import Field

from domain.mandates.approvals import Approval
from domain.mandates.mandate import Mandate
from domain.next_steps import OWNER_OR_AGENT, NextStep
from domain.refusals import Refused, refusal
from domain.settings import Config
from domain.wire_fields import described
from storage.unit_of_work import UnitOfWork
from tools.context.notice_outbox import enqueue_approval_notice
from tools.model.operation import AnyContext, ResponseModel


class NextTold(ResponseModel):
    """A next step: a sentence of the service, and the tool and route for it."""

    text: str = Field(description="the service's own words")
    tool: Literal["mandate_approvals"]
    route: Literal["GET /wallet/mandates/{public_id}/approvals"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedBy:
    """The agent that asks."""

    agent_id: str | None
    agent_name: str | None = field(metadata=described("the owner's name for the agent"))


_LOOK: Final = NextStep(
    "Show the owner approval_url, where she decides. Read the item, and once it is approved ask "
    "for the same action again",
    "mandate_approvals",
    "GET /wallet/mandates/{public_id}/approvals",
    OWNER_OR_AGENT,
)
NEXT: Final = (NextTold.model_validate(_LOOK.as_json()),)


def approval_url(config: Config, public_id: str, approval_id: str) -> str:
    """The page on which the owner decides; it asks who opens it."""
    return f"{config.base_url}/app/mandates/{public_id}/approvals/{approval_id}"


def keep_pending(uow: UnitOfWork, ctx: AnyContext, mandate: Mandate, item: Approval) -> None:
    """Store a pending item, and tell the owner of it; at most ten wait for one mandate (spec 3.2).

    Errors: `rate_limited`.
    """
    pending = uow.approvals.pending(mandate.public_id, ctx.now)
    if len(pending) >= ctx.config.pending_approvals_max:
        first, left = min(a.expires_at for a in pending), {"pending_approvals": 0}
        why = f"{len(pending)} approvals wait for the owner already."
        raise Refused(refusal("rate_limited", why=why, retry_at=first, remaining=left))
    uow.approvals.add(item)
    enqueue_approval_notice(uow, mandate.owner_id, item, ctx.now)


def asked_by(mandate: Mandate) -> AskedBy:
    """The mandate's agent."""
    return AskedBy(agent_id=mandate.agent_id, agent_name=mandate.agent_name)
