"""The skill over MCP: the skills extension (SEP-2640), and the same text as a resource."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from typing import Any, Final

import mcp.types as t
from mcp import MCPError
from mcp.server import Server

from server.mcp_api.held_calls import CARD_URI, Context, card_contents, card_resource, shows_cards
from skill import text

SKILL_URI: Final = f"skill://{text.NAME}/SKILL.md"
SKILLS: Final = "io.modelcontextprotocol/skills"
MARKDOWN: Final = "text/markdown"
# The text, None while the bot door is off: then there is no skill to list.
Skill = Callable[[], Awaitable[str | None]]
# A resource by its URI; None for one of another kind.
ReadResource = Callable[[Any, str], Awaitable[t.TextResourceContents | None]]


class GetSkill(t.RequestParams):
    """Names a skill."""

    uri: str


def add_skill(server: Server[object], skill: Skill, others: ReadResource) -> None:
    """Register the extension and the resource; `others` reads what is no skill."""

    async def text_of(uri: str) -> str:
        text = await skill() if uri == SKILL_URI else None
        if text is None:
            raise MCPError(t.INVALID_PARAMS, "Resource not found", {"uri": uri})
        return text

    async def skills_list(ctx: Context, params: object) -> dict[str, object]:
        text = await skill()
        return _uncached({"skills": [] if text is None else [_entry(text)]})

    async def skills_get(ctx: Context, params: GetSkill) -> dict[str, object]:
        return _uncached({"skill": _entry(await text_of(params.uri))})

    async def resources(ctx: Context, params: object) -> t.ListResourcesResult:
        name = t.Resource(
            uri=SKILL_URI, name=text.NAME, description=text.DESCRIPTION, mime_type=MARKDOWN
        )
        listed = [] if await skill() is None else [name]
        listed += [card_resource()] if listed and shows_cards(ctx) else []
        return t.ListResourcesResult(resources=listed, ttl_ms=0, cache_scope="private")

    async def read(ctx: Context, params: t.ReadResourceRequestParams) -> t.ReadResourceResult:
        if str(params.uri) == CARD_URI:
            return t.ReadResourceResult(contents=[card_contents()], ttl_ms=0, cache_scope="private")
        content = await others(ctx, str(params.uri)) or t.TextResourceContents(
            uri=SKILL_URI, text=await text_of(str(params.uri)), mime_type=MARKDOWN
        )
        return t.ReadResourceResult(contents=[content], ttl_ms=0, cache_scope="private")

    server.extensions[SKILLS] = {}
    server.add_request_handler("skills/list", t.PaginatedRequestParams, skills_list)
    server.add_request_handler("skills/get", GetSkill, skills_get)
    server.add_request_handler("resources/list", t.PaginatedRequestParams, resources)
    server.add_request_handler("resources/read", t.ReadResourceRequestParams, read)


def _uncached(body: dict[str, object]) -> dict[str, object]:
    return body | {"ttlMs": 0, "cacheScope": "private"}


def _entry(markdown: str) -> dict[str, object]:
    raw = markdown.encode()
    digest = "sha256:" + hashlib.sha256(raw).hexdigest()
    resource = {"uri": SKILL_URI, "digest": digest, "size": len(raw), "mimeType": MARKDOWN}
    return {"uri": SKILL_URI, "frontmatter": dict(text.frontmatter()), "resources": [resource]}
