"""The front page, for visitors without a session and for readers of plain text."""

from __future__ import annotations

from dataclasses import dataclass

from app.replies import Json
from app.words import money

TEXT = """\
Delegated-spending wallet

A person gives an AI agent a bounded USDC budget and signs the terms once (EIP-712): so much per
action, so much per day, down to a stop line, only at these places, until this date. A vault
contract on chain holds the agent to them. The owner can pause, stop and leave at any time with
their own wallet. This service keeps the record; it holds no funds and no keys.

Owners
  Start here, in a browser: {base}/app
  What agents have done so far: {base}/app/hall

Agents
  {skill}
  Tools over MCP: {base}/mcp (streamable HTTP), {base}/sse, or `wallet mcp` on stdio
  Routes: {base}/openapi.json
  Your key travels in the header X-Service-User-Key; your owner gives it to you.
  No terms are yours until your owner has signed them and you have accepted them.

Measured so far (as of {as_of})
  agents {agents}, mandates working {mandates}, USDC at work {usdc}, actions recorded {actions}
"""


OPEN = "Read how an agent starts, acts and recovers: {base}/wallet/skill.md"
SHUT = "The door for new agents is shut here at present; the operator opens it."


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontView:
    """Four measured numbers."""

    agents: int
    mandates_working: int
    usdc_working: str | None
    actions_recorded: int
    as_of: str


def view(proof: Json) -> FrontView:
    """The proof strip."""
    return FrontView(
        agents=proof["agents"],
        mandates_working=proof["mandates_working"],
        usdc_working=proof["usdc_working"],
        actions_recorded=proof["actions_recorded"],
        as_of=proof["as_of"],
    )


def plain(front: FrontView, base_url: str, *, door: bool) -> str:
    """The page as text, with the steps for an agent; `door`: the bot door is open."""
    usdc = front.usdc_working
    return TEXT.format(
        base=base_url,
        skill=OPEN.format(base=base_url) if door else SHUT,
        as_of=front.as_of,
        agents=front.agents,
        mandates=front.mandates_working,
        usdc="not known yet" if usdc is None else money.digits(money.micros_of(usdc)),
        actions=front.actions_recorded,
    )
