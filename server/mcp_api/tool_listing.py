"""The tools as they are listed, and the operations behind them.

To make the listing out of the catalogue takes longer than to start the SDK, and it is the same for
everybody: it ships with the code, in `server/data/tools.json`, which tests hold to the catalogue.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Protocol

import anyio
import mcp.types as t

if TYPE_CHECKING:
    from tools.model.operation import Operation


class ToolListing(Protocol):
    """The tools that a server offers."""

    def tools(self) -> Mapping[str, t.Tool]:
        """The tools by name, in the order in which they are listed."""
        ...

    async def operations(self) -> Sequence[Operation]:
        """The whole catalogue behind them."""
        ...


class PackagedListing:
    """The catalogue of this version; a process that is asked for the list alone never loads it."""

    def tools(self) -> Mapping[str, t.Tool]:
        """The published listing."""
        return _published()

    async def operations(self) -> Sequence[Operation]:
        """The catalogue; the first call loads it, in a thread."""
        return await anyio.to_thread.run_sync(_catalogue)


class CatalogueListing:
    """A catalogue that is at hand, described as it is."""

    def __init__(self, operations: Sequence[Operation]):
        self._operations = operations
        self._tools: dict[str, t.Tool] | None = None

    def tools(self) -> Mapping[str, t.Tool]:
        """The listing, made when it is first asked for."""
        if self._tools is None:
            self._tools = {op.name: described(op) for op in self._operations if op.on_mcp}
        return self._tools

    async def operations(self) -> Sequence[Operation]:
        """The catalogue."""
        return self._operations


@cache
def _published() -> Mapping[str, t.Tool]:
    listed = json.loads(files("server").joinpath("data/tools.json").read_bytes())
    return {tool["name"]: t.Tool.model_validate(tool) for tool in listed}


def _catalogue() -> Sequence[Operation]:
    from tools.catalogue import OPERATIONS

    return OPERATIONS


@cache
def described(op: Operation) -> t.Tool:
    """An operation as a tool."""
    from tools.model.json_schema import hints, tool_input, tool_output

    raw = hints(op)
    return t.Tool(
        name=op.name,
        title=op.title,
        description=op.summary,
        input_schema=tool_input(op),
        output_schema=tool_output(op),
        annotations=t.ToolAnnotations(
            read_only_hint=raw["readOnlyHint"],
            destructive_hint=raw["destructiveHint"],
            idempotent_hint=raw["idempotentHint"],
            open_world_hint=raw["openWorldHint"],
        ),
    )
