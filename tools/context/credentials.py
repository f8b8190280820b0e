"""Credential resolution: the caller that a key or session token stands for."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from typing import Final, Literal

from domain.settings import Config
from storage.repositories.grants import AccessToken
from storage.repositories.identities import Agent
from storage.repositories.people import Session
from storage.unit_of_work import UnitOfWork
from tools.model.operation import Caller, GrantedAccess

# How exactly the last use of a grant is known: not every call writes a row.
USE_NOTED_EVERY: Final = timedelta(hours=1)


def hashed(credential: str) -> str:
    """The stored form of a key or token; a header may hold bytes that are no text."""
    return hashlib.sha256(credential.encode(errors="surrogatepass")).hexdigest()


Header = Literal["agent_key", "bearer"]


def resolve(
    uow: UnitOfWork, header: Header, credential: str, now: datetime, *, on_mcp: bool = False
) -> tuple[Caller | None, Session | None]:
    """Turn a credential into a caller, with the session where it is one; None for one that is
    unknown, revoked or out of date (contract 2).

    Shapes: an agent key travels as X-Service-User-Key, and as a Bearer on MCP only; an app's access
    token as a Bearer on MCP only; an owner session never on MCP.
    """
    digest = hashed(credential)
    if header == "agent_key" or (on_mcp and credential.startswith("ak_")):
        return agent_of(uow, digest) if credential.startswith("ak_") else None, None
    if on_mcp:
        holder = uow.grants.holder(digest, now) if credential.startswith("at_") else None
        return None if holder is None else _app_of(*holder), None
    if credential.startswith(("kk_", "dk_")):
        role = uow.identities.house_role(digest)
        required_role: Literal["keeper", "admin"] = (
            "keeper" if credential.startswith("kk_") else "admin"
        )
        return Caller(required_role, credential=digest) if role == required_role else None, None
    live = uow.identities.session(digest, now) if credential.startswith("ws_") else None
    if live is None:
        return None, None
    who = live.user_id, live.user_id, live.address, None, digest, live.chain_id
    return Caller("owner", *who), live


def _app_of(agent: Agent, token: AccessToken) -> Caller:
    """The agent for which an app calls, with the token's scopes. Limits and sessions are those of
    the app and the agent, whichever token and grant it has today.
    """
    app = f"app {token.client_hash} {agent.agent_id}"
    access = GrantedAccess(token.grant_id, token.scopes, token.resource, token.used_at)
    who = agent.agent_id, agent.owner_id, agent.address, agent.name, app
    return Caller("agent", *who, access=access)


def is_use_to_note(access: GrantedAccess, now: datetime) -> bool:
    """True where the last use of a grant that is known lies an hour back."""
    return access.used_at is None or now - access.used_at >= USE_NOTED_EVERY


def agent_of(uow: UnitOfWork, digest: str) -> Caller | None:
    """The agent behind the hash of a key; None for one that is unknown or revoked."""
    agent = uow.identities.agent_by_key(digest)
    if agent is None:
        return None
    return Caller("agent", agent.agent_id, agent.owner_id, agent.address, agent.name, digest)


def prolonged(live: Session, now: datetime, config: Config) -> datetime | None:
    """The new end of a session in use; None where it stays. It moves once the session is half over,
    to 7 days after its start at the most.
    """
    if (live.expires_at - now).total_seconds() * 2 > config.session_s:
        return None
    until = min(now + timedelta(seconds=config.session_s), live.longest_at)
    return until if until > live.expires_at else None


def slide(uow: UnitOfWork, credential: str, now: datetime, config: Config) -> None:
    """Move the end of a session that is in use."""
    live = uow.identities.session(credential, now)
    until = None if live is None else prolonged(live, now, config)
    if until is not None:
        uow.identities.slide(credential, until)
