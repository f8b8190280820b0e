"""A held call: what its answer tells, so that an agent can hand it on and a host can show it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from pydantic import Field

from domain.mandates.mandate import Mandate
from domain.next_steps import OWNER_OR_AGENT, NextStep
from domain.settings import Config
from domain.wire_fields import described
from tools.model.operation import ResponseModel


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


def asked_by(mandate: Mandate) -> AskedBy:
    """The mandate's agent."""
    return AskedBy(agent_id=mandate.agent_id, agent_name=mandate.agent_name)
