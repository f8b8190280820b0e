"""An owner's writes that make something: sent twice with one key they make it once, and what was shown
once is not shown again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.world import World
from tools.model.operation import Caller
from tools.model.webhook_signing import WebhookSigning

pytestmark = pytest.mark.anyio
NOTE = "500 USDC for lending, at most 50 per trade, 30 days"
HOOK = {"url": "https://hooks.example/a"}


async def asked_with(world: World, owner: Caller, name: str) -> dict[str, Any]:
    """What an operation is asked, after what it needs was made."""
    match name:
        case "owner_agent_register":
            return {"name": "Scout"}
        case "owner_agent_key_add":
            agent = await world.ok("owner_agent_register", owner, name="Scout")
            return {"agent_id": agent["agent_id"]}
        case "owner_webhook_rotate":
            hook = await world.ok("owner_webhook_create", owner, **HOOK)
            return {"webhook_id": hook["webhook"]["webhook_id"]}
        case "owner_webhook_create":
            return dict(HOOK)
    return {"note": NOTE, "save": True}


async def made(world: World, owner: Caller) -> tuple[int, ...]:
    """How many agents, keys, drafts and webhooks there are, and how many secrets were changed."""
    agents = (await world.ok("owner_agents", owner))["items"]
    hooks = (await world.ok("owner_webhooks", owner))["items"]
    drafts = (await world.ok("mandate_list", owner))["items"]
    keys, changed = [k for a in agents for k in a["keys"]], [h for h in hooks if h["rotated_at"]]
    return len(agents), len(keys), len(drafts), len(hooks), len(changed)


ONCE = {
    "owner_agent_register": "key",
    "owner_agent_key_add": "key",
    "mandate_draft": None,
    "owner_webhook_create": "secret",
    "owner_webhook_rotate": "secret",
}


@pytest.mark.parametrize("name", ONCE)
async def test_a_write_that_is_repeated_with_its_key_is_done_once(world: World, name: str) -> None:
    world.deps = replace(world.deps, webhooks=WebhookSigning(b"k" * 32))
    owner, _ = await world.owner()
    asked, shown_once = await asked_with(world, owner, name), ONCE[name]
    first = await world.ok(name, owner, key="a", **asked)
    there = await made(world, owner)
    again = await world.ok(name, owner, key="a", **asked)
    assert await made(world, owner) == there
    if shown_once is not None:
        assert first[shown_once]
        assert again == first | {shown_once: None}
    else:
        assert again == first
    other, _ = await world.owner()
    if name in ("owner_agent_register", "mandate_draft", "owner_webhook_create"):
        assert await world.ok(name, other, key="a", **asked) != again


async def test_the_key_of_a_draft_that_nobody_stores_binds_no_stranger(world: World) -> None:
    for note in (NOTE, "20 USDC for reads, 3 days"):
        told = await world.ok("mandate_draft", key="a", note=note)
        assert told["saved"] is False
        assert told["draft"]["purpose"] == note
