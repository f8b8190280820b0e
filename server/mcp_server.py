"""The MCP server over the catalogue: the SDK's low-level server, one tool an operation."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Any, Final
from weakref import WeakSet

import mcp.types as t
from mcp import MCPError
from mcp.server import NotificationOptions, Server, ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

from domain.refusals import Refused, refusal
from http_shim.application import encoded
from http_shim.identity import identify, known
from skill import text
from tools.describe import tool_input, tool_output
from tools.operation import NOBODY, Caller, Deps, Operation, Reply, door_is_open, invalid, refused_reply, run

log = logging.getLogger("wallet.mcp")

READONLY: Final = "x-wallet-readonly"
SKILL_URI: Final = "skill://delegated-spending-wallet/SKILL.md"
SKILLS: Final = "io.modelcontextprotocol/skills"
INSTRUCTIONS: Final = (
    "Delegated-spending wallet. Call agents_me first. A refused call is a tool result with isError and a refusal block: "
    "read its who_fixes, remaining and next. Reuse an idempotency_key when you retry the same report. Never send a secret."
)
Context = ServerRequestContext[Any, Any]


class WalletServer(Server[Any]):
    """Advertises tools.listChanged to clients of the 2025 era too, which the SDK's default does not."""

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *args: Any, **kwargs: Any
    ) -> Any:
        """The SDK's options with listChanged on."""
        return super().create_initialization_options(
            notification_options or NotificationOptions(tools_changed=True), *args, **kwargs
        )


class Tools:
    """The catalogue as tools: listing, calling, telling when the list changed."""

    def __init__(self, deps: Deps, operations: Sequence[Operation], stdio_key: str | None):
        self.deps, self._stdio_key = deps, stdio_key
        self.operations = tuple(text.tools_of(operations))
        self._by_name = {op.name: op for op in self.operations}
        self.bus = InMemorySubscriptionBus()
        self._connections: WeakSet[Any] = WeakSet()
        self._door: bool | None = None

    def schema_of(self, name: str) -> dict[str, Any] | None:
        """A tool's input schema; the SDK would list every tool to find it."""
        op = self._by_name.get(name)
        return None if op is None else tool_input(op)

    async def list(self, ctx: Context, params: Any) -> t.ListToolsResult:
        """The tools that this caller can use now: the switch is read each time."""
        door = await self._door_now(ctx)
        shown = [op for op in self.operations if (door or not op.behind_door) and not (_reads_only(ctx) and op.writes)]
        return t.ListToolsResult(tools=[_tool(op) for op in shown], ttl_ms=0, cache_scope="private")

    async def call(self, ctx: Context, params: t.CallToolRequestParams) -> t.CallToolResult:
        """Call a tool: identity by message, the operation's one path, a refusal as a result."""
        op = self._by_name.get(params.name)
        if op is None:
            raise MCPError(t.INVALID_PARAMS, f"Unknown tool: {params.name}")
        if op.behind_door:
            await self._door_now(ctx)
        try:
            if op.writes and _reads_only(ctx):
                raise Refused(refusal("forbidden", why="the X-Wallet-Readonly header hides writes"))
            caller = await self._caller(ctx)
            key, arguments = _arguments(op, params.arguments or {})
        except Refused as refused:
            return _result(refused_reply(refused))
        return _result(await run(op, self.deps, caller, arguments, key=key, surface="mcp"))

    async def _caller(self, ctx: Context) -> Caller:
        if ctx.request is None:
            return await known(self.deps, "agent_key", self._stdio_key, on_mcp=True) if self._stdio_key else NOBODY
        return await identify(self.deps, _headers(ctx), on_mcp=True)

    async def _door_now(self, ctx: Context) -> bool:
        """Read the switch; tell every open connection when it differs from what was seen last."""
        door = await door_is_open(self.deps)
        # The SDK keeps no public register of its connections; a session lives for one request only.
        self._connections.add(ctx.session._connection)
        if self._door is not None and self._door != door:
            self._door = door
            await self._tell()
        self._door = door
        return door

    async def _tell(self) -> None:
        await self.bus.publish(ToolsListChanged())
        for connection in tuple(self._connections):
            await connection.notify("notifications/tools/list_changed", None)

    async def watch(self) -> None:
        """Look at the switch once, so that listeners hear of a change that no request has seen."""
        door = await door_is_open(self.deps)
        if self._door is not None and self._door != door:
            self._door = door
            await self._tell()
        self._door = door


def _headers(ctx: Context) -> Mapping[str, str]:
    headers = getattr(ctx.request, "headers", None)
    return headers if headers is not None else {}


def _reads_only(ctx: Context) -> bool:
    return _headers(ctx).get(READONLY, "").strip().lower() in ("1", "true", "yes", "on") if ctx.request is not None else False


_TOOLS: dict[str, t.Tool] = {}


def _tool(op: Operation) -> t.Tool:
    kept = _TOOLS.get(op.name)
    if kept is None:
        hints = t.ToolAnnotations(
            title=op.title,
            read_only_hint=not op.writes,
            destructive_hint=op.destructive,
            idempotent_hint=op.idempotent or not op.writes,
            open_world_hint=op.open_world,
        )
        kept = t.Tool(
            name=op.name,
            title=op.title,
            description=op.summary,
            input_schema=tool_input(op),
            output_schema=tool_output(op),
            annotations=hints,
        )
        _TOOLS[op.name] = kept
    return kept


def _arguments(op: Operation, given: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """(idempotency key, the rest); an object that a host sent as JSON text is read."""
    arguments = dict(given)
    key = arguments.pop("idempotency_key", None) if op.idempotency is not None else None
    if key is not None and not isinstance(key, str):
        raise Refused(invalid("idempotency_key", "a string is needed"))
    properties = tool_input(op)["properties"]
    for name, value in arguments.items():
        kind = properties.get(name, {}).get("type")
        if kind in ("object", "array") and isinstance(value, str):
            with contextlib.suppress(ValueError):
                arguments[name] = json.loads(value)
    return key, {n: v for n, v in arguments.items() if v is not None}


def _result(reply: Reply) -> t.CallToolResult:
    """The reply as a tool result; a refusal is identical in both contents (contract 1)."""
    body = {"refusal": dict(reply.body)} if reply.refused else dict(reply.body)
    told = encoded(body).decode()
    return t.CallToolResult(
        content=[t.TextContent(text=told)],
        structured_content=body,
        is_error=reply.refused,
        _meta={"wallet/http_status": reply.status},
    )


Skill = Callable[[], Awaitable[str]]


def _add_skill(server: Server[Any], skill: Skill) -> None:
    """The skills extension (SEP-2640), and the same text as a resource."""

    async def entry() -> dict[str, Any]:
        raw = (await skill()).encode()
        digest = "sha256:" + hashlib.sha256(raw).hexdigest()
        resource = {"uri": SKILL_URI, "digest": digest, "size": len(raw), "mimeType": "text/markdown"}
        return {"uri": SKILL_URI, "frontmatter": dict(text.frontmatter()), "resources": [resource]}

    class Get(t.RequestParams):
        uri: str

    async def skills_list(ctx: Context, params: Any) -> dict[str, Any]:
        return {"skills": [await entry()], "ttlMs": 0, "cacheScope": "private"}

    async def skills_get(ctx: Context, params: Get) -> dict[str, Any]:
        if params.uri != SKILL_URI:
            raise MCPError(t.INVALID_PARAMS, "unknown skill", {"uri": params.uri})
        return {"skill": await entry(), "ttlMs": 0, "cacheScope": "private"}

    async def resources(ctx: Context, params: Any) -> t.ListResourcesResult:
        named = t.Resource(uri=SKILL_URI, name=text.NAME, description=text.DESCRIPTION, mime_type="text/markdown")
        return t.ListResourcesResult(resources=[named], ttl_ms=0, cache_scope="private")

    async def read(ctx: Context, params: t.ReadResourceRequestParams) -> t.ReadResourceResult:
        if str(params.uri) != SKILL_URI:
            raise MCPError(t.INVALID_PARAMS, "Resource not found", {"uri": str(params.uri)})
        content = t.TextResourceContents(uri=SKILL_URI, text=await skill(), mime_type="text/markdown")
        return t.ReadResourceResult(contents=[content], ttl_ms=0, cache_scope="private")

    server.extensions[SKILLS] = {}
    server.add_request_handler("skills/list", t.PaginatedRequestParams, skills_list)
    server.add_request_handler("skills/get", Get, skills_get)
    server.add_request_handler("resources/list", t.PaginatedRequestParams, resources)
    server.add_request_handler("resources/read", t.ReadResourceRequestParams, read)


async def _no_prompts(ctx: Context, params: Any) -> t.ListPromptsResult:
    return t.ListPromptsResult(prompts=[], ttl_ms=0, cache_scope="private")


async def _no_templates(ctx: Context, params: Any) -> t.ListResourceTemplatesResult:
    return t.ListResourceTemplatesResult(resource_templates=[], ttl_ms=0, cache_scope="private")


def build_server(deps: Deps, operations: Sequence[Operation], *, stdio_key: str | None = None) -> tuple[WalletServer, Tools]:
    """The server and its tools; `stdio_key` is the agent key where there are no headers."""
    tools = Tools(deps, operations, stdio_key)
    server = WalletServer(
        "delegated-spending-wallet",
        version=version("mandate-wallet"),
        title="Delegated-spending wallet",
        instructions=INSTRUCTIONS,
        on_list_tools=tools.list,
        on_call_tool=tools.call,
        get_tool_input_schema=tools.schema_of,
        on_list_prompts=_no_prompts,
        on_list_resource_templates=_no_templates,
        on_subscriptions_listen=ListenHandler(tools.bus),
    )
    # Its spans go nowhere without an exporter, and cost 3 to 14% of a call.
    server.middleware.clear()

    async def skill() -> str:
        if not await door_is_open(deps):
            raise MCPError(t.INVALID_PARAMS, "the bot door is off")
        return text.skill_md(operations, deps.config)

    _add_skill(server, skill)
    return server, tools
