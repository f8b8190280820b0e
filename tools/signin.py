"""Signing in with a wallet (EIP-4361), and what a credential resolves to."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from pydantic import Field

from domain.refusals import NextStep, Refused, refusal
from domain.times import timestamp
from storage.unit_of_work import UnitOfWork
from tools.call.credentials import hashed
from tools.call.fields import Address, Nothing
from tools.call.operation import Ask, Caller, Deps, Gives, Operation, Reply, Takes

CHALLENGE_GOOD_FOR: Final = timedelta(minutes=5)


AGAIN: Final = (NextStep("Ask for a new challenge", None, "POST /wallet/auth/challenge"),)


class ChallengeIn(Takes):
    """Who wants to sign in."""

    address: Address
    chain_id: int | None = Field(default=None, ge=1, le=2**53, description="EIP-155 id; default: the service's own")


class ChallengeOut(Gives):
    """A text to sign."""

    message: str
    nonce: str
    expires_at: str


class SessionIn(Takes):
    """The signed text."""

    message: str = Field(max_length=8_000)
    signature: str = Field(pattern=r"^0x([0-9a-fA-F]{2})+$", max_length=16_384)


class SessionOut(Gives):
    """A session; `token` is shown once, at its start."""

    expires_at: str
    user: dict[str, Any]
    token: str | None = None


class Done(Gives):
    """It is done."""

    ok: bool


def challenge(uow: UnitOfWork, ask: Ask[ChallengeIn, None]) -> Reply:
    """Write a text with a nonce that can be used once, within 5 minutes."""
    address = ask.chains.address(ask.asked.address)
    chain_id = ask.asked.chain_id or ask.config.default_chain_id
    nonce = ask.ids.short("n") + ask.ids.short("x")
    expires = ask.now + CHALLENGE_GOOD_FOR
    text = ask.sign_in.message(
        address=address, chain_id=chain_id, uri=ask.config.base_url, nonce=nonce, issued=ask.now, expires=expires
    )
    uow.identities.add_challenge(nonce, text, address, chain_id, expires, ask.now)
    return Reply(200, {"message": text, "nonce": nonce, "expires_at": timestamp(expires)})


def _not_signed(signer: str, why: str) -> Refused:
    return Refused(refusal("invalid_signature", signer=signer, why=why, next=AGAIN))


async def checked(deps: Deps, caller: Caller, asked: SessionIn) -> str:
    """Check the signature before the transaction; gives the nonce of the text it covers."""
    told = deps.sign_in.read(asked.message)
    if told is None:
        raise _not_signed("the wallet", "the text is not a sign-in message")
    proof = await deps.chains.get(told.chain_id).check_signature(
        deps.sign_in.digest(asked.message), asked.signature, told.address
    )
    if proof is None:
        raise _not_signed(told.address, "the signature is not this wallet's over this text")
    return told.nonce


def open_session(uow: UnitOfWork, ask: Ask[SessionIn, str]) -> Reply:
    """Open a session for the wallet that signed the service's own text."""
    waiting = uow.identities.take_challenge(ask.facts, ask.now)
    if waiting is None or waiting.message != ask.asked.message:
        raise _not_signed("the wallet", "the text is not one of ours, was used before, or is older than 5 minutes")
    user = uow.identities.person(waiting.address, new_id=ask.ids.short("u_"), now=ask.now)
    token = ask.ids.token("ws_")
    expires = ask.now + timedelta(seconds=ask.config.session_s)
    longest = ask.now + timedelta(seconds=ask.config.session_longest_s)
    uow.identities.add_session(hashed(token), user.user_id, ask.now, expires, longest)
    return Reply(201, {"token": token, "expires_at": timestamp(expires), "user": {"address": user.address}})


def read_session(uow: UnitOfWork, ask: Ask[Nothing, None]) -> Reply:
    """Say whose session this is and how long it lasts."""
    live = uow.identities.session(ask.caller.credential or "", ask.now)
    if live is None:
        raise Refused(refusal("unauthenticated", needs="an owner session"))
    return Reply(200, {"expires_at": timestamp(live.expires_at), "user": {"address": live.address}})


def end_session(uow: UnitOfWork, ask: Ask[Nothing, None]) -> Reply:
    """End the session at once."""
    uow.identities.end_session(ask.caller.credential or "")
    return Reply(200, {"ok": True})


OPERATIONS: Final = (
    Operation(
        "auth_challenge", "Start signing in", "Get an EIP-4361 text to sign with your wallet; good for 5 minutes, once.",
        "open", ("POST", "/wallet/auth/challenge"), ChallengeIn, ChallengeOut, challenge, writes=True, family="sign-in",
        refusals=("invalid_address", "not_configured"),
    ),
    Operation(
        "auth_session_open", "Sign in", "Exchange the signed text for a session token.",
        "open", ("POST", "/wallet/auth/session"), SessionIn, SessionOut, open_session, gather=checked, writes=True,
        family="sign-in", statuses={201: "The session; its token is shown once"},
        refusals=("invalid_signature", "chain_unavailable", "not_configured"),
    ),
    Operation(
        "auth_session_read", "Read the session", "Whose session this is and when it ends.",
        "owner", ("GET", "/wallet/auth/session"), Nothing, SessionOut, read_session, family="sign-in",
    ),
    Operation(
        "auth_session_end", "Sign out", "End the session at once.",
        "owner", ("DELETE", "/wallet/auth/session"), Nothing, Done, end_session, writes=True, idempotent=True, family="sign-in",
    ),
)  # fmt: skip
