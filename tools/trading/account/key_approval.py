"""Key approval at the venue: one action type is relayed, rebuilt from our own fields, and then
verified."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Literal

from pydantic import Field

from domain.next_steps import OWNER, NextStep
from domain.ports import Venue
from domain.refusals import Refused, invalid, refusal
from domain.trading.venue_account import (
    KEY_LONGEST,
    NONCE_WINDOW,
    ZERO_ADDRESS,
    AgentKey,
    Link,
    agent_name,
    end_in,
    milliseconds,
)
from domain.trading.venue_values import ActionAck, AgentApproval
from storage.unit_of_work import UnitOfWork
from tools.model.fields import Address
from tools.model.operation import (
    Caller,
    Deps,
    ExternalEffect,
    HandlerResult,
    Operation,
    RequestContext,
    RequestModel,
    ResponseModel,
)
from tools.trading.account.venue_keys import agents_now
from tools.trading.fields import (
    KEYED,
    ChainId,
    NetworkName,
    Nonce,
    SignatureIn,
    TimestampText,
    not_the_wallets,
    own_link,
    own_write,
    signed_in,
    venue_of,
)

SETTLES_IN: Final = timedelta(seconds=2)
REMOVAL_S: Final = 5
VERIFY: Final = NextStep("Check the approval", None, "POST /wallet/own/enable/verify", OWNER)
SAME_AGAIN: Final = NextStep(
    "Send the very same request again: its nonce lets it act once",
    None,
    "POST /wallet/own/enable/relay",
    OWNER,
)
# The venue's words for an approval that it has carried out before.
_DONE_BEFORE: Final = frozenset({"duplicate_nonce", "agent_used"})


SIGNATURE_EXAMPLE: Final = {"r": "0x" + "11" * 32, "s": "0x" + "11" * 32, "v": 27}


class RelayIn(RequestModel):
    """An approval that the linked wallet signed; it is rebuilt from these fields, and nothing else
    is ever sent."""

    agent_address: Address
    agent_name: str = Field(
        max_length=64,
        description="`<enable.agent_name> valid_until <milliseconds>`; to revoke, the name alone",
        examples=["wsvc-o-0a1b2c valid_until 1795780800000"],
    )
    nonce: Nonce
    signature_chain_id: ChainId
    signature: SignatureIn = Field(examples=[SIGNATURE_EXAMPLE])
    kind: Literal["order", "keeper"] = "order"
    revoke: bool = Field(default=False, description="with the zero address: take the key back")


class RelayedAgent(ResponseModel):
    """The key that was approved; None for a revocation."""

    address: str
    name: str = Field(description="the service's own name for the key")
    valid_until: TimestampText


class RelayOut(ResponseModel):
    """The venue took it."""

    relayed: bool
    venue: Literal["ok"]
    network: NetworkName
    agent: RelayedAgent | None
    verify_after: TimestampText


@dataclass(frozen=True, slots=True)
class _StartedApproval:
    """An approval on record, as its owner signed it; `new` where this call put it there."""

    link: Link
    key: AgentKey
    approval: AgentApproval
    signature: Mapping[str, object]
    new: bool = True

    @property
    def revokes(self) -> bool:
        """Whether the approval takes a key back: it names no agent."""
        return self.key.agent == ZERO_ADDRESS


class OutcomeUnknown(Exception):
    """The approval was sent, and whether the venue took it is not known."""


def begin(uow: UnitOfWork, ctx: RequestContext[RelayIn, None]) -> _StartedApproval:
    """Rebuild the approval and note it. Errors: `not_linked`, `invalid_request`, `conflict`."""
    request, link, user = ctx.request, own_link(uow, ctx), signed_in(ctx.caller)
    agent = ctx.chains.address(request.agent_address).lower()
    if abs(request.nonce - milliseconds(ctx.now)) > NONCE_WINDOW // timedelta(milliseconds=1):
        raise invalid("nonce", "milliseconds since 1970, within 5 minutes of now")
    if request.revoke:
        name, until = _revoked_name(uow, link, request, agent), ctx.now
    else:
        name = agent_name(user, link.network, request.kind)
        until = _end(request, name, ctx.now)
        _new_agent(link, agent)
    key = AgentKey(
        approval_id=ctx.ids.short("va_"),
        link_id=link.link_id,
        kind=request.kind,
        agent=agent,
        name=name,
        nonce=request.nonce,
        signature_chain_id=request.signature_chain_id,
        valid_until=until,
        status="sending",
        requested_at=ctx.now,
    )
    approval = AgentApproval(
        network=link.network,
        agent=agent,
        name=request.agent_name,
        nonce=request.nonce,
        signature_chain_id=request.signature_chain_id,
    )
    started = _StartedApproval(link, key, approval, request.signature.model_dump())
    return _noted(uow, started)


async def send(deps: Deps, caller: Caller, started: _StartedApproval) -> None:
    """Send exactly this approval; after a lost answer look, and send the identical bytes again.

    Errors: `invalid_signature`, `venue_unavailable` where nothing was sent; what the venue refused:
    `agent_slots_full`, `account_unfunded`, `conflict`. OutcomeUnknown where nobody can say.
    """
    wallet = started.link.wallet
    await _keepers_own(deps, started)
    venue = venue_of(deps, started.link.network)
    if venue.agent_signer(started.approval, started.signature) != wallet:
        raise not_the_wallets(wallet)
    if started.revokes:
        # Dead here at once, whatever the venue still lists for a while or answers later.
        now = deps.clock.now()
        await deps.store.write(lambda uow: uow.venue.end_keys(started.key, now))
    ack = await venue.approve_agent(started.approval, started.signature, wallet)
    try:
        ack = await _settled(venue, started, ack)
    except Refused:
        ack = ActionAck("unknown")
    if ack.outcome == "unknown":
        await deps.store.write(lambda uow: uow.venue.settle_key(started.key.approval_id, "unknown"))
        raise OutcomeUnknown
    if ack.outcome == "refused":
        raise _venue_refusal(ack)


def finish(
    uow: UnitOfWork, ctx: RequestContext[RelayIn, None], started: _StartedApproval, done: None
) -> HandlerResult[RelayOut]:
    """The venue took it; the key of the same name that it had before is dead."""
    key, agent = started.key, None
    uow.venue.settle_key(key.approval_id, "approved")
    uow.venue.end_keys(key, ctx.now)
    if not started.revokes:
        address = ctx.chains.address(key.agent)
        agent = RelayedAgent(address=address, name=key.name, valid_until=key.valid_until)
    return HandlerResult(
        RelayOut(
            relayed=True,
            venue="ok",
            network=started.link.network,
            agent=agent,
            verify_after=ctx.now + SETTLES_IN,
        )
    )


def undo(uow: UnitOfWork, ctx: RequestContext[RelayIn, None], started: _StartedApproval) -> None:
    """Drop the record of a first try: nothing happened at the venue."""
    if started.new:
        uow.venue.forget_key(started.key.approval_id)


def _end(request: RelayIn, name: str, now: datetime) -> datetime:
    """The end in the signed name."""
    until = end_in(request.agent_name, name)
    if until is None:
        raise invalid("agent_name", f"`{name} valid_until <milliseconds>`")
    if not now < until <= now + KEY_LONGEST:
        raise invalid("agent_name", "valid_until in the future, at most 30 days away")
    return until


def _new_agent(link: Link, agent: str) -> None:
    """Refuse an address that may not become a key."""
    if agent == ZERO_ADDRESS:
        raise invalid("agent_address", "the zero address only with revoke")
    if agent == link.wallet.lower():
        raise invalid("agent_address", "a key of its own, not the wallet itself")


async def _keepers_own(deps: Deps, started: _StartedApproval) -> None:
    """Refuse a keeper key that is not the signer's."""
    if started.key.kind != "keeper" or started.revokes:
        return
    if deps.signer is None:
        raise Refused(refusal("not_configured", what="keeper keys"))
    ours = await deps.signer.keeper_address(started.link.network, started.link.wallet)
    if ours.lower() != started.key.agent:
        raise invalid("agent_address", "the address that the signer gave")


def _revoked_name(uow: UnitOfWork, link: Link, request: RelayIn, agent: str) -> str:
    if agent != ZERO_ADDRESS:
        raise invalid("agent_address", "the zero address revokes")
    if request.agent_name not in uow.venue.names_of(link.link_id, request.kind):
        raise invalid("agent_name", "a name that was approved here")
    return request.agent_name


def _noted(uow: UnitOfWork, started: _StartedApproval) -> _StartedApproval:
    """Note the approval before it is sent, or find the very same one. Errors: `conflict`."""
    link, key = started.link, started.key
    stored = uow.venue.key_of_nonce(link.network, link.wallet, key.nonce)
    if stored is not None:
        if _identity(stored) == _identity(key):
            return replace(started, key=stored, new=False)
        why = "The nonce was used for another approval."
        raise Refused(refusal("conflict", why=why, next=(VERIFY,)))
    if not started.revokes and uow.venue.key_of_agent(key.agent) is not None:
        why = (
            "The address was used before; make a new key, because old signed actions could be"
            " replayed with this one."
        )
        raise Refused(refusal("conflict", why=why))
    if not uow.venue.add_key(key, link):
        why = "The address or the nonce was used a moment ago."
        raise Refused(refusal("conflict", why=why, next=(VERIFY,)))
    return started


def _identity(key: AgentKey) -> tuple[object, ...]:
    """The signed parts of an approval: equal ones make equal bytes, which may be sent again."""
    end, chain = milliseconds(key.valid_until), key.signature_chain_id
    return key.link_id, key.kind, key.agent, key.name, key.nonce, chain, end


async def _settled(venue: Venue, started: _StartedApproval, ack: ActionAck) -> ActionAck:
    """After a lost answer look, then send again; only the list says that it acted."""
    if ack.outcome == "unknown":
        if await _stands(venue, started):
            return ActionAck("ok")
        ack = await venue.approve_agent(started.approval, started.signature, started.link.wallet)
    if ack.kind in _DONE_BEFORE and await _stands(venue, started):
        return ActionAck("ok")
    return ack


async def _stands(venue: Venue, started: _StartedApproval) -> bool:
    """True where the venue's list of agents is as the approval wants it."""
    agents = await agents_now(venue, started.link.wallet)
    if started.revokes:
        return all(a.name != started.key.name for a in agents)
    return any(a.address == started.key.agent for a in agents)


def _venue_refusal(ack: ActionAck) -> Refused:
    """The refusal for what the venue refused; its own words stand in `detail.venue`."""
    detail = {"venue": ack.words, "venue_kind": ack.kind}
    if ack.kind == "agent_slots":
        return Refused(refusal("agent_slots_full", detail=detail))
    if ack.kind == "unfunded":
        return Refused(refusal("account_unfunded", detail=detail))
    if ack.kind == "agent_removal":
        why = "it still removes an earlier key"
        return Refused(
            refusal("venue_unavailable", why=why, detail=detail | {"retry_after_s": REMOVAL_S})
        )
    return Refused(refusal("conflict", why="The venue refused the approval.", detail=detail))


OPERATIONS: Final = (
    Operation(
        name="own_enable_relay",
        title="Approve an order key",
        summary="Pass your signed approval of an order key on to the venue, and nothing else.",
        auth="owner",
        route=("POST", "/wallet/own/enable/relay"),
        request_model=RelayIn,
        response_model=RelayOut,
        effect=ExternalEffect(
            begin=begin, act=send, finish=finish, undo=undo, reconcile=(VERIFY, SAME_AGAIN)
        ),
        writes=True,
        family="own account",
        open_world=True,
        idempotency=own_write("/wallet/own/enable/relay"),
        refusals=(
            "invalid_address",
            "invalid_signature",
            "conflict",
            "agent_slots_full",
            "account_unfunded",
            "not_linked",
            "venue_unavailable",
            "not_configured",
            *KEYED,
            "outcome_unknown",
        ),
    ),
)
