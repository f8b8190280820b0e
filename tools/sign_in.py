"""Sign-in with a wallet (EIP-4361), and resolution of credentials."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from pydantic import Field

from domain.chain_facts import SignerCheck
from domain.next_steps import NextStep
from domain.refusals import Refused, refusal
from domain.times import Timestamp
from storage.errors import Unavailable
from storage.prefetch.read_set import ReadSet
from storage.repositories.people import SignInChallenge
from storage.unit_of_work import UnitOfWork
from tools.context.credentials import (
    Header,
    hashed,
    is_use_to_note,
    prolonged,
    resolve,
    slide,
)
from tools.model.fields import Address, Nothing, Signature
from tools.model.operation import (
    Caller,
    Deps,
    Operation,
    RequestContext,
    RequestModel,
    ResponseModel,
)

CHALLENGE_GOOD_FOR: Final = timedelta(minutes=5)
NOT_OURS: Final = "the text is not one that was issued, was used before, or is older than 5 minutes"
LONGEST: Final = 512
AGAIN: Final = (NextStep("Ask for a new challenge", None, "POST /wallet/auth/challenge"),)


class ChallengeIn(RequestModel):
    """The address that wants to sign in."""

    address: Address
    chain_id: int | None = Field(
        default=None, ge=1, le=2**53, description="EIP-155 id; default: the service's own"
    )


class ChallengeOut(ResponseModel):
    """A text to sign."""

    message: str
    nonce: str
    expires_at: Timestamp


class SessionIn(RequestModel):
    """The signed text."""

    message: str = Field(
        max_length=8_000,
        description="the text of the challenge, unchanged",
        examples=["wallet.example wants you to sign in with your Ethereum account:\n0x…"],
    )
    signature: Signature


class Person(ResponseModel):
    """A person: a wallet address that signs itself, or a contract's address on one chain."""

    address: str | None
    chain_id: int | None = Field(
        description="the chain of the contract that signed, where its mandates live; null for a "
        "key, which signs on every chain"
    )


class SessionOut(ResponseModel):
    """A session; `token` is shown once, at its start."""

    expires_at: Timestamp
    user: Person
    token: str | None = None


class Done(ResponseModel):
    """It is done."""

    ok: bool


def challenge(uow: UnitOfWork, ctx: RequestContext[ChallengeIn, None]) -> ChallengeOut:
    """Write a text with a nonce that can be used once, within 5 minutes."""
    address = ctx.chains.address(ctx.request.address)
    chain_id = ctx.request.chain_id or ctx.config.default_chain_id
    nonce = ctx.ids.short("n") + ctx.ids.short("x")
    expires = ctx.now + CHALLENGE_GOOD_FOR
    text = ctx.sign_in.message(
        address=address,
        chain_id=chain_id,
        uri=ctx.config.base_url,
        nonce=nonce,
        issued=ctx.now,
        expires=expires,
    )
    uow.identities.add_challenge(nonce, text, address, chain_id, expires, ctx.now)
    return ChallengeOut(message=text, nonce=nonce, expires_at=expires)


def _not_signed(signer: str, reason: str) -> Refused:
    return Refused(refusal("invalid_signature", signer=signer, why=reason, next=AGAIN))


async def issued(deps: Deps, text: str) -> SignInChallenge:
    """Find the challenge whose text this is, byte for byte once a form's CR LF is undone.

    Errors: `invalid_signature`, before any chain is asked.
    """
    text, now = text.replace("\r\n", "\n"), deps.clock.now()
    nonce = deps.sign_in.nonce(text)
    if nonce is None:
        raise _not_signed("the wallet", NOT_OURS)
    stored = await deps.store.read(lambda uow: uow.identities.challenge(nonce, now))
    if stored is None or stored.message != text:
        raise _not_signed("the wallet", NOT_OURS)
    return stored


@dataclass(frozen=True, slots=True)
class Proven:
    """A challenge whose text was signed, and how."""

    challenge: SignInChallenge
    proof: SignerCheck


async def checked(deps: Deps, caller: Caller, request: SessionIn) -> Proven:
    """Check the signature before the transaction."""
    stored = await issued(deps, request.message)
    chain, digest = deps.chains.get(stored.chain_id), deps.sign_in.digest(stored.message)
    proof = await chain.check_signature(digest, request.signature, stored.address)
    if proof is None:
        raise _not_signed(stored.address, "the signature is not this wallet's over this text")
    return Proven(stored, proof)


def open_session(uow: UnitOfWork, ctx: RequestContext[SessionIn, Proven]) -> SessionOut:
    """Open a session for the wallet that signed the service's own text."""
    # While the signature was checked, another request may have used it, or its time have run out.
    stored = uow.identities.take_challenge(ctx.facts.challenge.nonce, ctx.now)
    if stored is None:
        raise _not_signed("the wallet", NOT_OURS)
    signer = ctx.facts.proof.signer_type
    # A contract's word counts where it was asked: elsewhere another may have its address.
    chain_id = None if signer == "eoa" else stored.chain_id
    user = uow.identities.person(
        stored.address,
        new_id=ctx.ids.short("u_"),
        now=ctx.now,
        chain_id=chain_id,
        default_chain_id=ctx.config.default_chain_id,
    )
    token = ctx.ids.token("ws_")
    expires = ctx.now + timedelta(seconds=ctx.config.session_s)
    longest = ctx.now + timedelta(seconds=ctx.config.session_longest_s)
    uow.identities.add_session(
        hashed(token),
        user.user_id,
        ctx.now,
        expires,
        longest,
        signer_type=signer,
        chain_id=chain_id,
    )
    person = Person(address=user.address, chain_id=chain_id)
    return SessionOut(token=token, expires_at=expires, user=person)


def read_session(uow: UnitOfWork, ctx: RequestContext[Nothing, None]) -> SessionOut:
    """Say whose session this is and how long it lasts."""
    live = uow.identities.session(ctx.caller.credential or "", ctx.now)
    if live is None:
        raise Refused(refusal("unauthenticated", needs="an owner session"))
    person = Person(address=live.address, chain_id=live.chain_id)
    return SessionOut(expires_at=live.expires_at, user=person)


def end_session(uow: UnitOfWork, ctx: RequestContext[Nothing, None]) -> Done:
    """End the session at once."""
    uow.identities.end_session(ctx.caller.credential or "")
    return Done(ok=True)


async def caller_of_credential(
    deps: Deps, header: Header, credential: str, *, on_mcp: bool = False
) -> Caller:
    """The caller behind a credential; a session that is half over is prolonged, and the use of a
    grant noted once an hour.
    """
    if not credential or len(credential) > LONGEST:
        raise Refused(refusal("unauthenticated", needs="a credential of ours"))
    now = deps.clock.now()

    store = await deps.store.prefetch(ReadSet(now=now, credential=hashed(credential)))
    caller, live = await store.read(
        lambda uow: resolve(uow, header, credential, now, on_mcp=on_mcp)
    )
    if caller is None:
        raise Refused(refusal("unauthenticated", needs="a credential that is known and in date"))
    deps.credential_cache.keep(caller)
    access = caller.access
    if access is not None and is_use_to_note(access, now):
        await _note(deps, lambda uow: uow.grants.touch(access.grant_id, now))
    if live is not None and prolonged(live, now, deps.config) is not None:
        await _note(deps, lambda uow: slide(uow, caller.credential or "", now, deps.config))
    return caller


async def _note(deps: Deps, work: Callable[[UnitOfWork], None]) -> None:
    """Write a use of a credential down. Who only reads is not sent away while nothing can be
    written: the next call does it.
    """
    with suppress(Unavailable):
        await deps.store.write(work)


OPERATIONS: Final = (
    Operation(
        name="auth_challenge",
        title="Start signing in",
        summary="Get an EIP-4361 text to sign with your wallet; good for 5 minutes, once.",
        auth="open",
        route=("POST", "/wallet/auth/challenge"),
        request_model=ChallengeIn,
        response_model=ChallengeOut,
        handler=challenge,
        writes=True,
        family="sign-in",
        refusals=("invalid_address", "not_configured"),
    ),
    Operation(
        name="auth_session_open",
        title="Sign in",
        summary="Exchange the signed text for a session token.",
        auth="open",
        route=("POST", "/wallet/auth/session"),
        request_model=SessionIn,
        response_model=SessionOut,
        handler=open_session,
        gather=checked,
        writes=True,
        verbatim=frozenset({"message"}),
        family="sign-in",
        statuses={201: "The session; its token is shown once"},
        refusals=("invalid_signature", "chain_unavailable", "not_configured"),
    ),
    Operation(
        name="auth_session_read",
        title="Read the session",
        summary="Whose session this is and when it ends.",
        auth="owner",
        route=("GET", "/wallet/auth/session"),
        request_model=Nothing,
        response_model=SessionOut,
        handler=read_session,
        family="sign-in",
    ),
    Operation(
        name="auth_session_end",
        title="Sign out",
        summary="End the session at once.",
        auth="owner",
        route=("DELETE", "/wallet/auth/session"),
        request_model=Nothing,
        response_model=Done,
        handler=end_session,
        writes=True,
        idempotent=True,
        family="sign-in",
    ),
)
