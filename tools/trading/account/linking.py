"""Linking a wallet to a person at the venue: terms, proof by signature, current link."""

from __future__ import annotations

from datetime import timedelta
from typing import Final, Literal

from pydantic import Field

from domain.next_steps import OWNER, NextStep
from domain.refusals import Refused, refusal
from domain.trading.modes import live_network
from domain.trading.venue_account import (
    CHALLENGE_GOOD_FOR,
    CHALLENGES_A_DAY,
    CHALLENGES_OPEN,
    DEFAULT_CHAIN,
    TERMS,
    Link,
    LinkChallenge,
    link_text,
)
from storage.unit_of_work import UnitOfWork
from tools.dispatch.run import refused_reply
from tools.model.fields import Address, Nothing
from tools.model.operation import (
    Caller,
    Deps,
    ExternalEffect,
    HandlerResult,
    Operation,
    OperationResult,
    RequestContext,
    RequestModel,
    ResponseModel,
)
from tools.trading.fields import (
    KEYED,
    LOOK_AT_LINK,
    NetworkName,
    TimestampText,
    own_write,
    signed_in,
    venue_of,
)

DAY: Final = timedelta(days=1)
LINK_AGAIN: Final = (
    NextStep("Ask for a new challenge", None, "POST /wallet/own/link/challenge", OWNER),
)


class OwnTermsOut(ResponseModel):
    """The terms of linking an own account."""

    version: int
    sha256: str = Field(description="of text_en in UTF-8, 64 hex digits")
    text_en: str
    effective_at: TimestampText


class LinkChallengeIn(RequestModel):
    """The wallet to link, and the terms to accept."""

    address: Address
    chain_id: int = Field(
        default=DEFAULT_CHAIN, ge=1, le=2**53, description="chain that the wallet is on"
    )
    terms_sha256: str = Field(
        max_length=128, description="sha256 of the terms as they are now", examples=[TERMS.sha256]
    )


class LinkChallengeOut(ResponseModel):
    """A text to sign with the wallet."""

    challenge_id: str
    message: str
    scheme: Literal["eip191"]
    network: NetworkName
    expires_at: TimestampText


class LinkIn(RequestModel):
    """The signed challenge."""

    challenge_id: str = Field(max_length=64, examples=["lc_abcdefgh23"])
    signature: str = Field(
        pattern=r"^0x[0-9a-fA-F]{130}$",
        description="65 bytes over the challenge's text",
        examples=["0x" + "11" * 64 + "1b"],
    )


class LinkOut(ResponseModel):
    """The link as it stands."""

    linked: bool
    wallet: str
    network: NetworkName
    linked_at: TimestampText
    terms_version: int


def terms(uow: UnitOfWork, ctx: RequestContext[Nothing, None]) -> HandlerResult[OwnTermsOut]:
    """Give the terms."""
    return HandlerResult(OwnTermsOut.model_validate(TERMS))


def _current_terms(sha256: str) -> None:
    if sha256.removeprefix("0x").lower() != TERMS.sha256:
        raise Refused(refusal("terms_changed", version=TERMS.version))


def challenge(
    uow: UnitOfWork, ctx: RequestContext[LinkChallengeIn, None]
) -> HandlerResult[LinkChallengeOut]:
    """Write a text that links a wallet to this account. Errors: `terms_changed`, `rate_limited`."""
    user = signed_in(ctx.caller)
    _current_terms(ctx.request.terms_sha256)
    address, network = ctx.chains.address(ctx.request.address), live_network(ctx.switches)
    issued_times = uow.venue.challenges_since(user, ctx.now - DAY, CHALLENGES_A_DAY)
    if len(issued_times) >= CHALLENGES_A_DAY:
        why = f"A person may ask for {CHALLENGES_A_DAY} link challenges a day."
        raise Refused(refusal("rate_limited", why=why, retry_at=issued_times[-1] + DAY))
    expires = ctx.now + CHALLENGE_GOOD_FOR
    nonce = f"{ctx.ids.nonce256() >> 128:032x}"
    created = LinkChallenge(
        challenge_id=ctx.ids.short("lc_"),
        user_id=user,
        network=network,
        address=address,
        message=link_text(
            base_url=ctx.config.base_url,
            account=ctx.caller.address or user,
            address=address,
            chain_id=ctx.request.chain_id,
            network=network,
            nonce=nonce,
            terms_sha256=TERMS.sha256,
            issued=ctx.now,
            expires=expires,
        ),
        terms_version=TERMS.version,
        terms_sha256=TERMS.sha256,
        expires_at=expires,
    )
    uow.venue.add_challenge(created, ctx.now, open_at_most=CHALLENGES_OPEN, kept=2 * DAY)
    body = LinkChallengeOut(
        challenge_id=created.challenge_id,
        message=created.message,
        scheme="eip191",
        network=network,
        expires_at=expires,
    )
    return HandlerResult(body, 201)


def spend_challenge(
    uow: UnitOfWork, ctx: RequestContext[LinkIn, None]
) -> tuple[LinkChallenge, str]:
    """Take the text, burnt at its first try. Errors: `not_found`, `challenge_spent`."""
    row = uow.venue.challenge(ctx.request.challenge_id)
    if row is None or row[0].user_id != signed_in(ctx.caller):
        raise Refused(refusal("not_found", what="link challenge", next=LINK_AGAIN))
    stored, used = row
    spent = used or stored.expires_at <= ctx.now
    if spent or not uow.venue.burn(stored.challenge_id, ctx.now):
        raise Refused(refusal("challenge_spent"))
    return stored, ctx.request.signature


async def prove(deps: Deps, caller: Caller, started: tuple[LinkChallenge, str]) -> LinkChallenge:
    """Find the signer of the text and its role at the venue, and check that it is free.

    Errors, in order: `terms_changed`, `invalid_signature`, `not_own_account`, `already_linked`,
    `venue_unavailable`.
    """
    stored, signature = started
    _current_terms(stored.terms_sha256)
    signer = venue_of(deps, stored.network).text_signer(stored.message, signature)
    if signer != stored.address:
        why = "the signature is not this wallet's over this text"
        raise Refused(refusal("invalid_signature", signer=stored.address, why=why, next=LINK_AGAIN))
    await _is_own(deps, stored)
    await deps.store.read(lambda uow: _free(uow, stored))
    return stored


async def _is_own(deps: Deps, stored: LinkChallenge) -> None:
    """Refuse an address that is no account: a pasted agent key would answer nothing."""
    role = await venue_of(deps, stored.network).role(stored.address)
    words = {"agent": "an agent key", "vault": "a vault", "subAccount": "a sub-account"}
    if role in words:
        raise Refused(refusal("not_own_account", what=words[role], next=LINK_AGAIN))
    if role == "unknown":
        why = "it names a role that is not known"
        raise Refused(refusal("venue_unavailable", why=why, next=LINK_AGAIN))


def _free(uow: UnitOfWork, stored: LinkChallenge) -> Link | None:
    """The caller's own link of this wallet, if there is one. Errors: `already_linked`."""
    theirs = uow.venue.link_to(stored.address, stored.network)
    if theirs is not None and theirs.user_id != stored.user_id:
        raise Refused(refusal("already_linked", why="The wallet is linked to another owner."))
    own = uow.venue.link_of(stored.user_id, stored.network)
    if own is not None and own.wallet != stored.address:
        raise Refused(refusal("already_linked", why=f"You have linked {own.wallet} already."))
    return own


def link(
    uow: UnitOfWork,
    ctx: RequestContext[LinkIn, None],
    started: tuple[LinkChallenge, str],
    stored: LinkChallenge,
) -> HandlerResult[LinkOut] | OperationResult:
    """Write the link; a caller who has it already keeps it, under the newer terms. Another caller
    may have been faster since it was free: that is an answer like another.
    """
    try:
        own = _free(uow, stored)
        if own is not None:
            uow.venue.accept_terms(own.link_id, stored.terms_version)
        else:
            own = Link(
                link_id=ctx.ids.short("ln_"),
                user_id=stored.user_id,
                network=stored.network,
                wallet=stored.address,
                terms_version=stored.terms_version,
                linked_at=ctx.now,
            )
            if not uow.venue.add_link(own):
                why = "The wallet was linked a moment ago."
                raise Refused(refusal("already_linked", why=why))
    except Refused as refused:
        return refused_reply(refused, ctx.now, ctx.caller.role)
    return HandlerResult(
        LinkOut(
            linked=True,
            wallet=own.wallet,
            network=own.network,
            linked_at=own.linked_at,
            terms_version=TERMS.version,
        )
    )


OPERATIONS: Final = (
    Operation(
        name="own_terms",
        title="Read the terms of an own account",
        summary="The terms under which you link an account of yours at the venue.",
        auth="open",
        route=("GET", "/wallet/own/terms"),
        request_model=Nothing,
        response_model=OwnTermsOut,
        handler=terms,
        family="own account",
    ),
    Operation(
        name="own_link_challenge",
        title="Start linking an own account",
        summary="Get a text to sign with the wallet; good for 10 minutes, one try.",
        auth="owner",
        route=("POST", "/wallet/own/link/challenge"),
        request_model=LinkChallengeIn,
        response_model=LinkChallengeOut,
        handler=challenge,
        writes=True,
        family="own account",
        statuses={201: "A text to sign"},
        idempotency=own_write("/wallet/own/link/challenge"),
        refusals=(
            "invalid_address",
            "terms_changed",
            "rate_limited",
            *KEYED,
        ),
    ),
    Operation(
        name="own_link",
        title="Link an own account",
        summary="Prove by the signed text that the wallet is yours. No key of yours is stored.",
        auth="owner",
        route=("POST", "/wallet/own/link"),
        request_model=LinkIn,
        response_model=LinkOut,
        effect=ExternalEffect(
            begin=spend_challenge, act=prove, finish=link, reconcile=(LOOK_AT_LINK,)
        ),
        writes=True,
        open_world=True,
        family="own account",
        idempotency=own_write("/wallet/own/link"),
        refusals=(
            "not_found",
            "challenge_spent",
            "terms_changed",
            "invalid_signature",
            "not_own_account",
            "already_linked",
            "venue_unavailable",
            "not_configured",
            *KEYED,
            "outcome_unknown",
        ),
    ),
)
