"""Text for machines: skill.md, the door's body, the tool list, llms.txt; all out of the catalogue
and the registry.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any, Final

from domain.refusals import REFUSALS
from domain.settings import Config
from tools.call.describe import catalogue, hints, plain, takes_schema, tool_input
from tools.call.operation import Operation

MCP_REVISION: Final = "2026-07-28"
MCP_NOTE: Final[Mapping[str, Any]] = {
    "public_id": "$MANDATE",
    "kind": "note",
    "payload": {"text": "looking around"},
    "idempotency_key": "note-2",
}
NAME: Final = "delegated-spending-wallet"
DESCRIPTION: Final = (
    "Spend a bounded USDC budget under a mandate that its owner signed. Read what is allowed, get checked calldata, "
    "act, report, and recover from refusals. Use when you were given a wallet key (ak_…) or a mandate id (m_…)."
)
START: Final = (
    "Call agents_me to see who you are and which mandates you have.",
    "Call agent_offers, read an offer with mandate_get, and accept it with mandate_accept.",
    "Before acting read limits.remaining; ask mandate_execute_call for calldata (dry_run=true shows the checks).",
    "Sign the calldata with your own wallet and send it; the service never holds your key.",
    "Report with mandate_report_event and an idempotency_key; reuse the same key when you retry the same report.",
    "When a call was refused, follow its next[]; when an answer was lost, call mandate_reconcile, never send again.",
)


def tools_of(operations: Sequence[Operation]) -> list[Operation]:
    """The operations that are MCP tools."""
    return [op for op in operations if op.on_mcp]


def tool_list(operations: Sequence[Operation]) -> dict[str, Any]:
    """The body of /wallet/mcp-tools."""
    return {
        "tools": [
            {
                "name": op.name,
                "title": op.title,
                "description": op.summary,
                "auth": op.auth,
                **hints(op),
                "route": " ".join(op.route) if op.route else None,
                "inputSchema": tool_input(op),
            }
            for op in tools_of(operations)
        ]
    }


def client_config(base_url: str) -> dict[str, Any]:
    """What to paste into the common clients."""
    header = {"X-Service-User-Key": "ak_…"}
    return {
        "claude_code": f'claude mcp add --transport http wallet {base_url}/mcp --header "X-Service-User-Key: ak_…"',
        "cursor": {"mcpServers": {"wallet": {"url": f"{base_url}/mcp", "headers": header}}},
        "vscode": {
            "servers": {"wallet": {"type": "http", "url": f"{base_url}/mcp", "headers": header}}
        },
        "claude_desktop": {
            "mcpServers": {
                "wallet": {
                    "command": "wallet",
                    "args": ["mcp"],
                    "env": {"WALLET_SERVICE_USER_KEY": "ak_…"},
                }
            }
        },
        "codex": {
            "mcp_servers": {
                "wallet": {
                    "command": "wallet",
                    "args": ["mcp"],
                    "env": {"WALLET_SERVICE_USER_KEY": "ak_…"},
                }
            }
        },
        "sse": {"url": f"{base_url}/sse", "headers": header, "legacy": True},
        "curl": f'curl -H "X-Service-User-Key: ak_…" {base_url}/wallet/agents/me',
    }


def rate_limits(config: Config) -> list[dict[str, Any]]:
    """Limits a caller can run into, besides those of its mandates."""
    return [
        {"what": "reads a key and minute", "limit": config.rate_reads, "code": "rate_limited"},
        {"what": "writes a key and minute", "limit": config.rate_writes, "code": "rate_limited"},
        {
            "what": "requests without a key, an address and minute",
            "limit": config.rate_anonymous,
            "code": "rate_limited",
        },
        {
            "what": "drafts and proposals an owner and hour",
            "limit": config.drafts_per_hour,
            "code": "rate_limited",
        },
        {
            "what": "pending approvals a mandate",
            "limit": config.pending_approvals_max,
            "code": "rate_limited",
        },
        {
            "what": "refused attempts recorded a mandate and UTC day",
            "limit": config.refusals_per_day,
            "code": "rate_limited",
        },
        {"what": "request body", "limit": "256 KiB, 32 levels deep", "code": "body_too_large"},
        {"what": "rows a page", "limit": 200, "code": "invalid_request"},
        {
            "what": "validity of an approval",
            "limit": f"{config.approval_valid_s} s",
            "code": "approval_expired",
        },
        {
            "what": "calldata reservation",
            "limit": f"{config.reservation_s} s",
            "code": "over_daily_cap",
        },
    ]


def index(config: Config) -> dict[str, Any]:
    """The body of `GET /` (contract 1)."""
    base = config.base_url
    links = {"skill": "/wallet/skill.md", "openapi": "/openapi.json", "mcp": "/mcp"}
    links |= {"door": "/wallet/door", "app": "/app"}
    return {
        "service": NAME,
        "version": version("mandate-wallet"),
        "links": {name: base + path for name, path in links.items()},
    }


def door_body(operations: Sequence[Operation], config: Config) -> dict[str, Any]:
    """The body behind the 402 (spec 4.1): nothing is charged, it describes the service."""
    create = next((op for op in operations if op.name == "owner_mandate_create"), None)
    return {
        "door": "mandate",
        "charged": False,
        "about": DESCRIPTION,
        "mandate_schema": takes_schema(create) if create else {},
        "start": list(START),
        "refusals": catalogue(),
        "rate_limits": rate_limits(config),
        "client_config": client_config(config.base_url),
        "links": {
            "skill": f"{config.base_url}/wallet/skill.md",
            "tools": f"{config.base_url}/wallet/mcp-tools",
            "openapi": f"{config.base_url}/openapi.json",
            "mcp": f"{config.base_url}/mcp",
        },
    }


def skill_md(operations: Sequence[Operation], config: Config) -> str:
    """The bootstrap text, with the Agent Skills frontmatter."""
    base = config.base_url
    return "\n".join(
        [
            "---",
            f"name: {NAME}",
            f"description: {DESCRIPTION}",
            "---",
            "",
            "# Delegated-spending wallet",
            "",
            "An owner gave you a bounded USDC budget by signing a mandate. A vault contract enforces the caps, the targets, the",
            "stop line and the end date; this service checks before you spend gas, records what happens, and tells you what to do",
            "when something is refused. It holds no money and no keys. Never send it a private key: such a request is refused.",
            "",
            "## Start",
            "",
            *(f"{n}. {step}" for n, step in enumerate(START, start=1)),
            "",
            "## Three outcomes",
            "",
            "- **Done**: the answer is the result. 202 with `violation: true` is done too: it was stored, and flagged.",
            "- **Refused**: the answer is a refusal block; nothing was written. Read `error`, `who_fixes`, `remaining`, `retry_at`",
            "  and `next`. Retry the same call only where `retry_safe` is true.",
            "- **Unknown**: no answer came. Do not resend. Ask `mandate_reconcile` with the tx_hash or idempotency_key:",
            "  `landed`, `reverted`, `pending` or `not_seen`.",
            "",
            "## Who you are",
            "",
            "HTTP and MCP over HTTP or SSE: header `X-Service-User-Key: ak_…`. MCP over stdio: `WALLET_SERVICE_USER_KEY`.",
            "",
            "```sh",
            f'curl -s -H "X-Service-User-Key: $KEY" {base}/wallet/agents/me',
            f'curl -s -H "X-Service-User-Key: $KEY" {base}/wallet/mandates/$MANDATE',
            'curl -s -X POST -H "X-Service-User-Key: $KEY" -H "Idempotency-Key: note-1" -H "content-type: application/json" \\',
            f'  -d \'{{"kind": "note", "payload": {{"text": "looking around"}}}}\' {base}/wallet/mandates/$MANDATE/events',
            "```",
            "",
            "The same over MCP, where every tool takes its arguments flat (the example is one whole call; no session is needed):",
            "",
            "```sh",
            *_mcp_call(base, "mandate_report_event", MCP_NOTE),
            "```",
            "",
            "A lost answer: ask, do not send again.",
            "",
            "```sh",
            f'curl -s -H "X-Service-User-Key: $KEY" "{base}/wallet/mandates/$MANDATE/reconcile?idempotency_key=note-2"',
            "```",
            "",
            "A refused tool call is a result, not an error of the protocol: `isError` is true and `structuredContent` is",
            '`{"refusal": {"error": "…", "who_fixes": "…", "next": [{"text": "…", "tool": "…"}], …}}`.',
            "",
            "## Acting",
            "",
            "`mandate_execute_call` takes `target`, `data` and `approve_amount` (what the target may pull, in USDC). It answers a",
            "transaction `{chain_id, from, to, data, value}`: sign it with your wallet, send it with at least 700,000 gas, wait for",
            "the receipt, then report. Above the owner's approval amount it answers 202 `pending_approval`: wait, read",
            "`mandate_approvals`, and ask again with the same arguments once it is approved. Handing out calldata reserves the amount",
            f"for {config.reservation_s // 60} minutes against the cap of the day.",
            "",
            "Amounts are decimal strings with at most 6 decimals. Times are UTC. The day of the caps is the UTC day.",
            "",
            "## Tools",
            "",
            *(
                f"- `{op.name}` ({'write' if op.writes else 'read'}, {op.auth.replace('_', ' ')}): {op.summary}"
                for op in tools_of(operations)
            ),
            "",
            "## Refusals",
            "",
            *(
                f"- `{k.code}` ({k.status}, {k.who_fixes} fixes{', retry is safe' if k.retry_safe else ''}): {plain(k.sentence)}"
                for k in REFUSALS.values()
            ),
            "",
        ]
    )


def _mcp_call(base: str, tool: str, arguments: Mapping[str, Any]) -> list[str]:
    """A tool call as one curl command; $MANDATE is closed out of the quotes for the shell."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MCP_REVISION,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    call = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    quoted = call.replace("$MANDATE", "'$MANDATE'")
    return [
        f'curl -s {base}/mcp -H "X-Service-User-Key: $KEY" -H "content-type: application/json" \\',
        '  -H "accept: application/json, text/event-stream" \\',
        f'  -H "mcp-protocol-version: {MCP_REVISION}" -H "mcp-method: tools/call" -H "mcp-name: {tool}" \\',
        f"  -d '{quoted}'",
    ]


def llms_txt(config: Config) -> str:
    """An index for language models."""
    base = config.base_url
    return (
        f"# Delegated-spending wallet\n\n> {DESCRIPTION}\n\n## Docs\n\n"
        f"- [Skill]({base}/wallet/skill.md): how an agent starts, acts and recovers\n"
        f"- [OpenAPI]({base}/openapi.json): every route, answer and refusal\n"
        f"- [Tools]({base}/wallet/mcp-tools): the MCP tools with their inputs\n"
        f"- [Door]({base}/wallet/door): answers 402 by design; nothing is charged\n"
    )


def frontmatter() -> Mapping[str, str]:
    """The skill's name and description."""
    return {"name": NAME, "description": DESCRIPTION}
