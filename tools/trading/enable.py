"""Approving a key at the venue: one action type is passed on, rebuilt from our own fields, and then
verified."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from pydantic import Field

from domain.ports import Venue
from domain.refusals import NextStep, Refused, invalid, refusal
from domain.times import timestamp
from domain.trading.own import (
    KEY_LONGEST,
    NOBODY,
    NONCE_WINDOW,
    AgentKey,
    KeyKind,
    Link,
    agent_name,
    end_in,
    milliseconds,
)
from domain.trading.venue import AgentApproval, Network, Told
from storage.sql import Duplicate
from storage.unit_of_work import UnitOfWork
from tools.call.fields import Address
from tools.call.operation import Caller, Deps, Gives, Operation, Reply, Takes
from tools.trading.fields import (
    HASH_FIELDS,
    ChainId,
    Moment,
    NetworkName,
    Nonce,
    SignatureIn,
    address_of,
    linked,
    live_side,
    own_write,
    signed_in,
    venue_of,
)

SETTLES_IN: Final = timedelta(seconds=2)
REMOVAL_S: Final = 5
VERIFY: Final = NextStep("Check the approval", None, "POST /wallet/own/enable/verify")
SAME_AGAIN: Final = NextStep(
    "Send the very same request again: its nonce lets it act once",
    None,
    "POST /wallet/own/enable/relay",
)
# The venue's words for an approval that it has carried out before.
_DONE_BEFORE: Final = frozenset({"duplicate_nonce", "agent_used"})


class RelayIn(Takes):
    """An approval that the linked wallet signed; it is rebuilt from these fields, and nothing else
    is ever sent."""

    agent_address: Address
    agent_name: str = Field(
        max_length=64,
        description="`<enable.agent_name> valid_until <milliseconds>`; to revoke, the name alone",
    )
    nonce: Nonce
    signature_chain_id: ChainId
    signature: SignatureIn
    kind: Literal["order", "keeper"] = "order"
    revoke: bool = Field(default=False, description="with the zero address: take the key back")


class RelayedAgent(Gives):
    """The key that was approved; None for a revocation."""

    address: str
    name: str
    valid_until: Moment


class RelayOut(Gives):
    """The venue took it."""

    relayed: bool
    venue: Literal["ok"]
    network: NetworkName
    agent: RelayedAgent | None
    verify_after: Moment


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What an owner asks to be passed on, checked."""

    user: str
    link: Link
    kind: KeyKind
    agent: str
    name: str
    valid_until: datetime
    approval: AgentApproval
    signature: dict[str, Any]

    @property
    def revokes(self) -> bool:
        return self.agent == NOBODY

    def key(self, approval_id: str, now: datetime) -> AgentKey:
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
class _Begun:
    """An approval on record; `new` where this call put it there."""

    key: AgentKey
    new: bool


async def relay(deps: Deps, caller: Caller, asked: RelayIn) -> Reply:
    """Pass the owner's approval of a key on to the venue.

    Errors: `not_linked`, `invalid_request`, `conflict` for an address or a nonce that was used,
    `invalid_signature`;
    of the venue: `agent_slots_full`, `account_unfunded`, `conflict`, and `venue_unavailable` where
    nothing was sent
    or no answer came.
    """
    wanted = await _checked(deps, caller, asked)
    venue = venue_of(deps, wanted.link.network)
    if venue.agent_signer(wanted.approval, wanted.signature) != wanted.link.wallet:
        why = "it is not the linked wallet's over this approval"
        raise Refused(refusal("invalid_signature", signer=wanted.link.wallet, why=why))
    now = deps.clock.now()
    begun = await deps.store.write(lambda uow: _begun(uow, wanted, deps.ids.short("va_"), now))
    try:
        told = await venue.approve_agent(wanted.approval, wanted.signature, wanted.link.wallet)
    except Refused:
        # Nothing was sent, so nothing is kept of a first try.
        if begun.new:
            await deps.store.write(lambda uow: uow.venue.forget_key(begun.key.approval_id))
        raise
    try:
        told = await _settled(venue, wanted, told)
    except Refused:
        told = Told("unknown")
    return await _answered(deps, wanted, begun.key, told)


async def _checked(deps: Deps, caller: Caller, asked: RelayIn) -> _Wanted:
    """Rebuild the approval from our own fields, or refuse."""
    _, network, found, _ = await live_side(deps, caller)
    link, user, now = linked(found, network), signed_in(caller), deps.clock.now()
    agent = address_of(deps, asked.agent_address).lower()
    if abs(asked.nonce - milliseconds(now)) > NONCE_WINDOW // timedelta(milliseconds=1):
        raise invalid("nonce", "milliseconds since 1970, within 5 minutes of now")
    if asked.revoke:
        name, until = await _revoked_name(deps, link, asked, agent), now
    else:
        name, until = agent_name(user, network, asked.kind), _end(asked, user, network, now)
        await _new_agent(deps, link, asked, agent)
    return _Wanted(
        user=user,
        link=link,
        kind=asked.kind,
        agent=agent,
        name=name,
        valid_until=until,
        approval=AgentApproval(
            network=network,
            agent=agent,
            name=asked.agent_name,
            nonce=asked.nonce,
            signature_chain_id=asked.signature_chain_id,
        ),
        signature=asked.signature.model_dump(),
    )


def _end(asked: RelayIn, user: str, network: Network, now: datetime) -> datetime:
    """The end in the signed name."""
    name = agent_name(user, network, asked.kind)
    until = end_in(asked.agent_name, name)
    if until is None:
        raise invalid("agent_name", f"`{name} valid_until <milliseconds>`")
    if not now < until <= now + KEY_LONGEST:
        raise invalid("agent_name", "valid_until in the future, at most 30 days away")
    return until


async def _new_agent(deps: Deps, link: Link, asked: RelayIn, agent: str) -> None:
    """Refuse an address that may not become a key."""
    if agent == NOBODY:
        raise invalid("agent_address", "the zero address only with revoke")
    if agent == link.wallet.lower():
        raise invalid("agent_address", "a key of its own, not the wallet itself")
    if asked.kind == "keeper":
        if deps.signer is None:
            raise Refused(refusal("not_configured", what="a signer for keeper keys"))
        ours = await deps.signer.keeper_address(link.network, link.wallet)
        if ours.lower() != agent:
            raise invalid("agent_address", "the address that the signer gave")


async def _revoked_name(deps: Deps, link: Link, asked: RelayIn, agent: str) -> str:
    if agent != NOBODY:
        raise invalid("agent_address", "the zero address revokes")
    names = await deps.store.read(lambda uow: uow.venue.names_of(link.link_id, asked.kind))
    if asked.agent_name not in names:
        raise invalid("agent_name", "a name that was approved here")
    return asked.agent_name


def _begun(uow: UnitOfWork, wanted: _Wanted, approval_id: str, now: datetime) -> _Begun:
    """Note the approval before it is sent; the very same one may be sent again after a lost answer.

    Errors: `conflict` for an address that was ever used, and for a nonce of another approval.
    """
    link = wanted.link
    same = uow.venue.key_of_nonce(link.network, link.wallet, wanted.approval.nonce)
    if same is not None:
        if wanted.same_as(same) and same.status in ("sending", "unknown", "approved"):
            return _Begun(same, new=False)
        raise Refused(
            refusal("conflict", why="The nonce was used for another approval.", next=(VERIFY,))
        )
    if not wanted.revokes and uow.venue.key_of_agent(wanted.agent) is not None:
        why = "The address was used before; make a new key, because old signed actions could be replayed with this one."
        raise Refused(refusal("conflict", why=why))
    key = wanted.key(approval_id, now)
    try:
        uow.venue.add_key(key, link)
    except Duplicate:
        why = "The address or the nonce was used a moment ago."
        raise Refused(refusal("conflict", why=why, next=(VERIFY,))) from None
    if wanted.revokes:
        # Dead here at once, whatever the venue still lists for a while or answers later.
        uow.venue.end_keys(key, now)
    return _Begun(key, new=True)


async def _settled(venue: Venue, wanted: _Wanted, told: Told) -> Told:
    """After a lost answer: look, then send the identical bytes once more, which their nonce lets
    act once.

    That they were taken before is only believed where the venue's list says so.
    """
    if told.outcome == "unknown":
        if await _stands(venue, wanted):
            return Told("ok")
        told = await venue.approve_agent(wanted.approval, wanted.signature, wanted.link.wallet)
    if told.kind in _DONE_BEFORE and await _stands(venue, wanted):
        return Told("ok")
    return told


async def _stands(venue: Venue, wanted: _Wanted) -> bool:
    """True where the venue's list of agents is as the approval wants it."""
    told = (await venue.agents(wanted.link.wallet, good_for_s=0, fresh=True)).value
    if wanted.revokes:
        return all(a.name != wanted.name for a in told)
    return any(a.address == wanted.agent for a in told)


async def _answered(deps: Deps, wanted: _Wanted, key: AgentKey, told: Told) -> Reply:
    """Write down how the venue took it, and say so."""
    if told.outcome == "unknown":
        await deps.store.write(lambda uow: uow.venue.settle_key(key.approval_id, "unknown"))
        why = "it gave no answer; the approval may have been taken"
        raise Refused(
            refusal(
                "venue_unavailable",
                why=why,
                detail={"retry_after_s": REMOVAL_S},
                next=(VERIFY, SAME_AGAIN),
            )
        )
    if told.outcome == "refused":
        await deps.store.write(lambda uow: uow.venue.settle_key(key.approval_id, "refused"))
        raise _in_our_words(told)
    now = deps.clock.now()

    def approved(uow: UnitOfWork) -> None:
        uow.venue.settle_key(key.approval_id, "approved")
        # The same name with another address takes the old key's place at the venue, and so it does
        # here.
        uow.venue.end_keys(key, now)

    await deps.store.write(approved)
    body = {
        "relayed": True,
        "venue": "ok",
        "network": wanted.link.network,
        "agent": None
        if wanted.revokes
        else {
            "address": wanted.agent,
            "name": wanted.name,
            "valid_until": timestamp(wanted.valid_until),
        },
        "verify_after": timestamp(now + SETTLES_IN),
    }
    return Reply(200, body)


def _in_our_words(told: Told) -> Refused:
    """The refusal for what the venue refused; its own words stand in `detail.venue`."""
    detail = {"venue": told.words, "venue_kind": told.kind}
    if told.kind == "agent_slots":
        return Refused(refusal("agent_slots_full", detail=detail))
    if told.kind == "unfunded":
        return Refused(refusal("account_unfunded", detail=detail))
    if told.kind == "agent_removal":
        why = "it still removes an earlier key"
        return Refused(
            refusal("venue_unavailable", why=why, detail=detail | {"retry_after_s": REMOVAL_S})
        )
    return Refused(
        refusal("conflict", why=f"The venue refused the approval: {told.words}", detail=detail)
    )


_WRITE: Final = (
    "not_linked",
    "venue_unavailable",
    "not_configured",
    "idempotency_key_reused",
    "idempotency_in_flight",
)

OPERATIONS: Final = (
    Operation(
        name="own_enable_relay",
        title="Approve an order key",
        summary="Pass your signed approval of an order key on to the venue; nothing else is passed on.",
        auth="owner",
        route=("POST", "/wallet/own/enable/relay"),
        takes=RelayIn,
        gives=RelayOut,
        effect=relay,
        writes=True,
        guards_secrets=True,
        hash_fields=HASH_FIELDS,
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
