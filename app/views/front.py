"""The front page, for readers of plain text."""

from __future__ import annotations

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


def plain(proof: Json, base_url: str, *, door: bool) -> str:
    """The page as text, with the steps for an agent; `proof` of hall_proof, `door`: the bot door is
    open.
    """
    usdc = proof["usdc_working"]
    return TEXT.format(
        base=base_url,
        skill=OPEN.format(base=base_url) if door else SHUT,
        as_of=proof["as_of"],
        agents=proof["agents"],
        mandates=proof["mandates_working"],
        usdc="not known yet" if usdc is None else money.digits(money.micros_of(usdc)),
        actions=proof["actions_recorded"],
    )
