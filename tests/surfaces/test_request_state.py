"""What a client carries back opens in every process of the ring, for its caller, tool and arguments alone."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

import mcp.types as t
import pytest

from tests.surfaces.small import ALICE, BOB, META, Small, modern, small
from tools.model.sealing import key_ring

pytestmark = pytest.mark.anyio
RING, OTHER = key_ring("k" * 32), key_ring("z" * 32)
CAPABLE = META | {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"url": {}}}}


async def asks_first(ctx: Any, params: t.CallToolRequestParams) -> Any:
    """A tool that needs the owner to open a page, and knows on the repeat which one."""
    if params.request_state is not None:
        return t.CallToolResult(content=[t.TextContent(text=params.request_state)])
    url = t.ElicitRequestURLParams(message="Approve", url="https://wallet.example/app")
    return t.InputRequiredResult(
        input_requests={"approve": t.ElicitRequest(params=url)}, request_state="ap_1"
    )


def asking(s: Small) -> Small:
    s.server.add_request_handler("tools/call", t.CallToolRequestParams, asks_first)
    return s


async def called(s: Small, who: str | None, state: str | None = None, **arguments: Any) -> Any:
    more: dict[str, Any] = {"requestState": state} if state else {}
    more |= {"inputResponses": {"approve": {"action": "accept"}}} if state else {}
    sent = modern("tools/call", name="who_am_i", arguments=arguments, **more)
    sent["json"]["params"]["_meta"] = CAPABLE
    return (await s.post("/mcp", who, **sent)).body


async def test_a_state_of_one_process_is_taken_by_another_with_its_keys_and_by_no_other(
    sqlite_url: str,
) -> None:
    async with AsyncExitStack() as stack:
        a, b, c = [
            asking(await stack.enter_async_context(small(sqlite_url, sealing=ring, again=n > 0)))
            for n, ring in enumerate((RING, RING, OTHER))
        ]
        state = (await called(a, ALICE))["result"]["requestState"]
        assert "ap_1" not in state
        for process in (a, b):
            told = (await called(process, ALICE, state))["result"]
            assert told["content"][0]["text"] == "ap_1"
        for process, who, arguments in ((c, ALICE, {}), (b, BOB, {}), (b, None, {}), (b, ALICE, {"x": "1"})):  # fmt: skip
            refused = (await called(process, who, state, **arguments))["error"]
            assert refused["code"] == t.INVALID_PARAMS
            assert refused["data"] == {"reason": "invalid_request_state"}
