"""Plays a story over MCP with the 1.x Python SDK, in an environment of its own; stdin and stdout as in story.mjs."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from mcp import ClientSession
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamablehttp_client


async def played(key: str, way: dict[str, Any]) -> dict[str, Any]:
    headers = {"X-Service-User-Key": key}
    opened: Any = sse_client if way["transport"] == "sse" else streamablehttp_client
    async with (
        opened(way["url"], headers=headers, timeout=120) as streams,
        ClientSession(streams[0], streams[1]) as session,
    ):
        await session.initialize()
        tools = (await session.list_tools()).tools
        answers = []
        for step in way["steps"]:
            told = await session.call_tool(step["tool"], step["arguments"])
            text: Any = told.content[0]
            answers.append(
                {
                    "isError": told.isError,
                    "body": told.structuredContent,
                    "text": json.loads(text.text),
                }
            )
    return {"tools": [t.name for t in tools], "answers": answers}


async def main() -> None:
    story = json.load(sys.stdin)
    print(json.dumps([await played(story["key"], way) for way in story["ways"]]))


asyncio.run(main())
