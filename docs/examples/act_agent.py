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


class Stopped(Exception):
    """Nothing more can be done in this run; its text says why."""


async def called(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool; a refusal is an answer like another."""
    answer: dict[str, Any] = (await client.call_tool(tool, arguments)).structured_content or {}
    return answer


async def told(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool that must not be refused. Errors: Stopped with the refusal's words."""
    answer = await called(client, tool, **arguments)
    if "refusal" in answer:
        raise stopped_by(answer["refusal"])
    return answer


def stopped_by(refused: dict[str, Any]) -> Stopped:
    """The end of the run, in the words of the refusal: its code, its reason, who can act."""
    return Stopped(f"{refused['error']}: {refused['reason']} ({refused['who_fixes']} can fix it)")


async def accepted_mandate(client: Client) -> str:
    """The mandate to work under: one that is accepted, or the first offer."""
    me = await told(client, "agents_me")
    for offer in (await told(client, "agent_offers", agent_id=me["agent_id"]))["items"]:
        await told(client, "mandate_accept", public_id=offer["mandate"]["public_id"])
    working = (await told(client, "mandate_list", status="working"))["items"]
    if not working:
        raise Stopped("no working mandate")
    return str(working[0]["mandate"]["public_id"])


async def market_at(client: Client, address: str) -> str:
    """The market's name, by which it is entered without any calldata of ours."""
    for market in (await told(client, "markets_list"))["items"]:
        if str(market["target"].get("address")).lower() == address.lower():
            return str(market["id"])
    raise Stopped("no market has this address")


async def act(client: Client, public_id: str, market: str, amount: str) -> dict[str, Any]:
    """Enter the market once: whatever is open is repeated with the same key, never with another."""
    key = f"enter-{uuid.uuid4()}"
    for _ in range(TRIES):
        done = await called(
            client,
            "mandate_act",
            public_id=public_id,
            action={"kind": "enter", "market": market, "amount_usdc": amount},
            why="the example's one step",
            idempotency_key=key,
        )
        refused = done.get("refusal")
        if refused is None and done["outcome"] in ("landed", "reverted"):
            return done
        if refused is None:
            print(f"{done['outcome']}: {done.get('approval_url') or done.get('reason')}")
        elif refused["error"] in ("over_per_tx_cap", "over_daily_cap"):
            amount = refused["remaining"]["value"]
            print(f"{refused['reason']} Trying {amount}.")
            if amount == "0.000000":
                raise Stopped(f"{refused['error']}: nothing is left")
            continue
        elif not refused["retry_safe"]:
            raise stopped_by(refused)
        await asyncio.sleep(PAUSE_S)
    raise Stopped("it is still open; ask mandate_reconcile with the same key later")


async def main(market: str, amount: str) -> int:
    """One step inside the mandate; the exit code."""
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
            try:
                public_id = await accepted_mandate(client)
                done = await act(client, public_id, await market_at(client, market), amount)
            except Stopped as why:
                print(why, file=sys.stderr)
                return 1
    print(f"{done['outcome']}: {done['tx_hash']}")
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1], sys.argv[2])))
