"""What a credential resolves to."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Any, Literal

from domain.settings import Config
from storage.unit_of_work import UnitOfWork
from tools.call.operation import Caller


def hashed(credential: str) -> str:
    """What is stored of a key or token."""
    return hashlib.sha256(credential.encode()).hexdigest()


Header = Literal["agent_key", "bearer"]


def resolve(
    uow: UnitOfWork, header: Header, credential: str, now: Any, *, on_mcp: bool = False
) -> Caller | None:
    """Turn a credential into a caller; None for one that is unknown, revoked or out of date
    (contract 2).

    Shapes: an agent key travels as X-Service-User-Key, and as a Bearer on MCP only; an owner
    session never on MCP.
    """
    digest = hashed(credential)
    if header == "agent_key" or (on_mcp and credential.startswith("ak_")):
        agent = uow.identities.agent_by_key(digest) if credential.startswith("ak_") else None
        return (
            None
            if agent is None
            else Caller("agent", agent.agent_id, agent.owner_id, agent.address, agent.name, digest)
        )
    if on_mcp:
        return None
    if credential.startswith(("kk_", "dk_")):
        role = uow.identities.house_role(digest)
        wanted: Literal["keeper", "admin"] = "keeper" if credential.startswith("kk_") else "admin"
        return Caller(wanted, credential=digest) if role == wanted else None
    live = uow.identities.session(digest, now) if credential.startswith("ws_") else None
    return (
        None
        if live is None
        else Caller("owner", live.user_id, live.user_id, live.address, None, digest)
    )


def slide(uow: UnitOfWork, credential: str, now: Any, config: Config) -> None:
    """Move the end of a session that is in use, to 7 days after its start at the most."""
    live = uow.identities.session(credential, now)
    if live is None or live.expires_at - now > timedelta(seconds=config.session_s) / 2:
        return
    uow.identities.slide(
        credential, min(now + timedelta(seconds=config.session_s), live.longest_at)
    )
