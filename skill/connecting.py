"""Connecting: instructions, and the limits of a caller besides those of its mandates."""

from __future__ import annotations

from domain.rules.rule_table import PER_DAY
from domain.settings import Config


def client_config(base_url: str, key: str = "ak_…") -> dict[str, object]:
    """The configuration to paste into the common MCP clients, with the agent's key."""
    header = {"X-Service-User-Key": key}
    return {
        "claude_code": f'claude mcp add --transport http wallet {base_url}/mcp --header "X-Service-User-Key: {key}"',
        "cursor": {"mcpServers": {"wallet": {"url": f"{base_url}/mcp", "headers": header}}},
        "vscode": {
            "servers": {"wallet": {"type": "http", "url": f"{base_url}/mcp", "headers": header}}
        },
        "claude_desktop": {
            "mcpServers": {
                "wallet": {
                    "command": "wallet",
                    "args": ["mcp"],
                    "env": {"WALLET_SERVICE_USER_KEY": key},
                }
            }
        },
        "codex": {
            "mcp_servers": {
                "wallet": {
                    "command": "wallet",
                    "args": ["mcp"],
                    "env": {"WALLET_SERVICE_USER_KEY": key},
                }
            }
        },
        "relay": {
            "mcpServers": {
                "wallet": {
                    "command": "wallet",
                    "args": ["mcp", "--url", base_url],
                    "env": {"WALLET_SERVICE_USER_KEY": key},
                }
            }
        },
        "sse": {"url": f"{base_url}/sse", "headers": header, "legacy": True},
        "curl": f'curl -H "X-Service-User-Key: {key}" {base_url}/wallet/agents/me',
    }


def rate_limits(config: Config) -> list[dict[str, object]]:
    """Limits a caller can run into, besides those of its mandates."""
    return [
        # 0 switches a rate off, and is shown as no limit.
        {
            "what": "reads a key and minute",
            "limit": config.rate_reads or None,
            "code": "rate_limited",
        },
        {
            "what": "writes a key and minute",
            "limit": config.rate_writes or None,
            "code": "rate_limited",
        },
        {
            "what": "requests without a key, an address and minute",
            "limit": config.rate_anonymous or None,
            "code": "rate_limited",
        },
        {
            "what": "drafts and proposals an owner and hour",
            "limit": config.drafts_per_hour or None,
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
            "code": PER_DAY.refusal,
        },
    ]
