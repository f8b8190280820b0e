"""Key approval at the venue: one action type is relayed, rebuilt from our own fields, and then
verified."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from pydantic import Field

from domain.next_steps import OWNER, NextStep
from domain.ports import Venue
from domain.refusals import Refused, invalid, refusal
from domain.times import timestamp
from domain.trading.venue_account import (
    KEY_LONGEST,
    NONCE_WINDOW,
    ZERO_ADDRESS,
    AgentKey,
    KeyKind,
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
    Operation,
    OperationResult,
    RequestContext,
    RequestModel,
    ResponseModel,
)
from tools.trading.fields import (
    ChainId,
    NetworkName,
    Nonce,
    SignatureIn,
    TimestampText,
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
class KeyApproval:
    """A checked key approval that an owner wants relayed."""

    link: Link
    kind: KeyKind
    agent: str
    name: str
    valid_until: datetime
    approval: AgentApproval
    signature: dict[str, Any]

    @property
    def revokes(self) -> bool:
        """Whether the approval takes a key back: it names no agent."""
        return self.agent == ZERO_ADDRESS

    def key(self, approval_id: str, now: datetime) -> AgentKey:
        """The record of the approved key."""
        return AgentKey(
            approval_id=approval_id,
            link_id=self.link.link_id,
            kind=self.kind,
            agent=self.agent,
            name=self.name,
            nonce=self.approval.nonce,
            signature_chain_id=self.approval.signature_chain_id,
            valid_until=self.valid_until,
            status="sending",
            requested_at=now,
        )

    def same_as(self, stored: AgentKey) -> bool:
        """True where a stored approval is this very one, so that its bytes may be sent again."""
        ours = self.key(stored.approval_id, stored.requested_at)
        return all(
            getattr(stored, name) == getattr(ours, name)
            for name in ("link_id", "kind", "agent", "name", "nonce", "signature_chain_id")
        ) and milliseconds(stored.valid_until) == milliseconds(ours.valid_until)


@dataclass(frozen=True, slots=True)
class _StartedApproval:
    """An approval on record; `new` where this call put it there."""

    key_approval: KeyApproval
    key: AgentKey
    new: bool


class OutcomeUnknown(Exception):
    """The approval was sent, and whether the venue took it is not known."""


def begin(uow: UnitOfWork, ctx: RequestContext[RelayIn, None]) -> _StartedApproval:
    """Rebuild the approval from our own fields, and note it before it is sent.

    Errors: `not_linked`, `invalid_request`, `conflict` for an address or a nonce that was used.
    """
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
    approval = AgentApproval(
        network=link.network,
        agent=agent,
        name=request.agent_name,
        nonce=request.nonce,
        signature_chain_id=request.signature_chain_id,
    )
    key_approval = KeyApproval(
        link=link,
        kind=request.kind,
        agent=agent,
        name=name,
        valid_until=until,
        approval=approval,
        signature=request.signature.model_dump(),
    )
    return _noted(uow, key_approval, ctx.ids.short("va_"), ctx.now)


async def send(deps: Deps, caller: Caller, started: _StartedApproval) -> None:
    """Send exactly this approval; after a lost answer look, and send the identical bytes again.

    Errors: `invalid_signature`, `venue_unavailable` where nothing was sent; what the venue refused:
    `agent_slots_full`, `account_unfunded`, `conflict`. NoAnswer where nobody can say.
    """
    key_approval = started.key_approval
    await _keepers_own(deps, key_approval)
    venue = venue_of(deps, key_approval.link.network)
    if (
        venue.agent_signer(key_approval.approval, key_approval.signature)
        != key_approval.link.wallet
    ):
        why = "it is not the linked wallet's over this approval"
        raise Refused(refusal("invalid_signature", signer=key_approval.link.wallet, why=why))
    if key_approval.revokes:
        # Dead here at once, whatever the venue still lists for a while or answers later.
        now = deps.clock.now()
        await deps.store.write(lambda uow: uow.venue.end_keys(started.key, now))
    ack = await venue.approve_agent(
        key_approval.approval, key_approval.signature, key_approval.link.wallet
    )
    try:
        ack = await _settled(venue, key_approval, ack)
    except Refused:
        ack = ActionAck("unknown")
    if ack.outcome == "unknown":
        await deps.store.write(lambda uow: uow.venue.settle_key(started.key.approval_id, "unknown"))
        raise OutcomeUnknown
    if ack.outcome == "refused":
        raise _venue_refusal(ack)


def finish(
    uow: UnitOfWork, ctx: RequestContext[RelayIn, None], started: _StartedApproval, done: None
) -> OperationResult:
    """The venue took it; the key of the same name that it had before is dead."""
    key_approval = started.key_approval
    uow.venue.settle_key(started.key.approval_id, "approved")
    uow.venue.end_keys(started.key, ctx.now)
    agent = {
        "address": ctx.chains.address(key_approval.agent),
        "name": key_approval.name,
        "valid_until": timestamp(key_approval.valid_until),
    }
    body = {
        "relayed": True,
        "venue": "ok",
        "network": key_approval.link.network,
        "agent": None if key_approval.revokes else agent,
        "verify_after": timestamp(ctx.now + SETTLES_IN),
    }
    return OperationResult(200, body)


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


async def _keepers_own(deps: Deps, key_approval: KeyApproval) -> None:
    """Refuse a keeper key that is not the signer's."""
    if key_approval.kind != "keeper" or key_approval.revokes:
        return
    if deps.signer is None:
        raise Refused(refusal("not_configured", what="a signer for keeper keys"))
    ours = await deps.signer.keeper_address(key_approval.link.network, key_approval.link.wallet)
    if ours.lower() != key_approval.agent:
        raise invalid("agent_address", "the address that the signer gave")


def _revoked_name(uow: UnitOfWork, link: Link, request: RelayIn, agent: str) -> str:
    if agent != ZERO_ADDRESS:
        raise invalid("agent_address", "the zero address revokes")
    if request.agent_name not in uow.venue.names_of(link.link_id, request.kind):
        raise invalid("agent_name", "a name that was approved here")
    return request.agent_name


def _noted(
    uow: UnitOfWork, key_approval: KeyApproval, approval_id: str, now: datetime
) -> _StartedApproval:
    """Note the approval before it is sent; the very same one may be sent again after a lost answer.

    Errors: `conflict` for an address that was ever used, and for a nonce of another approval.
    """
    link = key_approval.link
    same = uow.venue.key_of_nonce(link.network, link.wallet, key_approval.approval.nonce)
    if same is not None:
        if key_approval.same_as(same):
            return _StartedApproval(key_approval, same, new=False)
        why = "The nonce was used for another approval."
        raise Refused(refusal("conflict", why=why, next=(VERIFY,)))
    if not key_approval.revokes and uow.venue.key_of_agent(key_approval.agent) is not None:
        why = (
            "The address was used before; make a new key, because old signed actions could be"
            " replayed with this one."
        )
        raise Refused(refusal("conflict", why=why))
    key = key_approval.key(approval_id, now)
    if not uow.venue.add_key(key, link):
        why = "The address or the nonce was used a moment ago."
        raise Refused(refusal("conflict", why=why, next=(VERIFY,)))
    return _StartedApproval(key_approval, key, new=True)


async def _settled(venue: Venue, key_approval: KeyApproval, ack: ActionAck) -> ActionAck:
    """After a lost answer: look, then send the identical bytes once more, which their nonce lets
    act once.

    That they were taken before is only believed where the venue's list says so.
    """
    if ack.outcome == "unknown":
        if await _stands(venue, key_approval):
            return ActionAck("ok")
        ack = await venue.approve_agent(
            key_approval.approval, key_approval.signature, key_approval.link.wallet
        )
    if ack.kind in _DONE_BEFORE and await _stands(venue, key_approval):
        return ActionAck("ok")
    return ack


async def _stands(venue: Venue, key_approval: KeyApproval) -> bool:
    """True where the venue's list of agents is as the approval wants it."""
    agents = (
        await venue.agents(key_approval.link.wallet, max_age_s=0, fresh=True, priority="order")
    ).value
    if key_approval.revokes:
        return all(a.name != key_approval.name for a in agents)
    return any(a.address == key_approval.agent for a in agents)


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


_WRITE: Final = (
    "not_linked",
    "venue_unavailable",
    "not_configured",
    "idempotency_key_reused",
    "idempotency_in_flight",
    "outcome_unknown",
)

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
            "secret_not_accepted",
            *_WRITE,
        ),
    ),
)
