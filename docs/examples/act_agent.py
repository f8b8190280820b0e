"""A small agent over MCP that acts by one tool, `mandate_act`; its key stays on this machine.

    WALLET_BASE=… WALLET_KEY=ak_… AGENT_PRIVATE_KEY=0x… python act_agent.py MARKET AMOUNT

It needs `mandate-wallet` and the official `mcp` client that comes with it.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import uuid
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

PAUSE_S = 2
TRIES = 300


async def called(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool; a refusal is an answer like another."""
    answer: dict[str, Any] = (await client.call_tool(tool, arguments)).structured_content or {}
    return answer


async def accepted_mandate(client: Client) -> str:
    """The mandate to work under: one that is accepted, or the first offer."""
    me = await called(client, "agents_me")
    for offer in (await called(client, "agent_offers", agent_id=me["agent_id"]))["items"]:
        await called(client, "mandate_accept", public_id=offer["mandate"]["public_id"])
    working = (await called(client, "mandate_list", status="working"))["items"]
    if not working:
        raise SystemExit("no working mandate")
    return str(working[0]["mandate"]["public_id"])


async def market_at(client: Client, address: str) -> str:
    """The market's name, by which it is entered without any calldata of ours."""
    for market in (await called(client, "markets_list"))["items"]:
        if str(market["target"].get("address")).lower() == address.lower():
            return str(market["id"])
    raise SystemExit("no market has this address")


async def act(client: Client, public_id: str, market: str, amount: str) -> dict[str, Any]:
    """Enter the market once: whatever is open is repeated with the same key, never with another."""
    key = f"enter-{uuid.uuid4()}"
    for _ in range(TRIES):
        told = await called(
            client,
            "mandate_act",
            public_id=public_id,
            action={"kind": "enter", "market": market, "amount_usdc": amount},
            why="the example's one step",
            idempotency_key=key,
        )
        refused = told.get("refusal")
        if refused is None and told["outcome"] in ("landed", "reverted"):
            return told
        if refused is None:
            print(f"{told['outcome']}: {told.get('approval_url') or told.get('reason')}")
        elif refused["error"] in ("over_per_tx_cap", "over_daily_cap"):
            amount = refused["remaining"]["value"]
            print(f"{refused['reason']} Trying {amount}.")
            if amount == "0.000000":
                raise SystemExit(f"{refused['error']}: nothing is left")
            continue
        elif not refused["retry_safe"]:
            fixes = f"{refused['who_fixes']} can fix it"
            raise SystemExit(f"{refused['error']}: {refused['reason']} ({fixes})")
        await asyncio.sleep(PAUSE_S)
    raise SystemExit("it is still open; ask mandate_reconcile with the same key later")


async def main(market: str, amount: str) -> None:
    """One step inside the mandate."""
    env = os.environ
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "agent.key"
        file.touch(mode=0o600)
        file.write_text(env["AGENT_PRIVATE_KEY"])
        server = StdioServerParameters(
            command=sys.executable,
            args=[
                "-m",
                "server",
                "mcp",
                "--url",
                env["WALLET_BASE"],
                "--agent-key-file",
                str(file),
            ],
            env={**env, "WALLET_SERVICE_USER_KEY": env["WALLET_KEY"]},
        )
        async with Client(server) as client:
            public_id = await accepted_mandate(client)
            told = await act(client, public_id, await market_at(client, market), amount)
    print(f"{told['outcome']}: {told['tx_hash']}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
