"""Fields and answers that the operations of the trading side share."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Final, Literal

from pydantic import Field, PlainSerializer, StrictInt

from domain.next_steps import OWNER, OWNER_OR_AGENT, NextStep
from domain.ports import Venue
from domain.refusals import Refused, refusal
from domain.settings import Switches
from domain.times import written_time
from domain.trading.modes import allowlisted, live_network
from domain.trading.venue_account import Link
from domain.trading.venue_values import Network
from storage.unit_of_work import UnitOfWork
from tools.model.operation import (
    AnyContext,
    Caller,
    Deps,
    RequestModel,
    ResponseModel,
)
from tools.model.paper_port import PaperExchange
from tools.model.switches import switches

# Where to ask what became of a call that nobody answered.
LOOK_AT_LINK: Final = NextStep(
    "Read what is linked and approved", None, "GET /wallet/own/status", OWNER
)
LOOK_AT_WAITING: Final = NextStep(
    "Read the orders that wait; do not send it again",
    "order_pending",
    "GET /wallet/order/pending",
    OWNER_OR_AGENT,
)
LOOK_UNDER_WAY: Final = NextStep(
    "Read the orders that are under way; do not send it again",
    None,
    "GET /wallet/order/under-way",
    OWNER,
)

NetworkName = Annotated[
    Literal["mainnet", "testnet"], Field(description="the venue's network that the answer is about")
]
Figure = Annotated[
    str | None, Field(description="the venue's own decimal string; null where it told none")
]
Amount = Annotated[str | None, Field(description="USDC, 6 decimals; null where it is not known")]
_Instant = Annotated[datetime, PlainSerializer(written_time, return_type=str)]
TimestampText = Annotated[_Instant, Field(description="ISO 8601, UTC")]
MaybeMoment = Annotated[
    _Instant | None, Field(description="ISO 8601, UTC; null where it never was")
]
ChainId = Annotated[
    str,
    Field(
        pattern=r"^0x[1-9a-f][0-9a-f]{0,15}$",
        description="chain id of the wallet's domain, 0x hex without leading zeros",
        examples=["0xa4b1"],
    ),
]
Nonce = Annotated[
    StrictInt,
    Field(
        ge=0,
        lt=2**53,
        description="milliseconds since 1970; used once",
        examples=[1_795_176_000_000],
    ),
]
_WORD: Final = r"^0x[0-9a-fA-F]{64}$"


class SignatureIn(RequestModel):
    """An ECDSA signature with a low s."""

    r: str = Field(pattern=_WORD, description="64 hex digits")
    s: str = Field(pattern=_WORD, description="64 hex digits, in the lower half")
    v: StrictInt = Field(ge=27, le=28)


class VenueTypedData(ResponseModel):
    """EIP-712 typed data, as a wallet takes it."""

    domain: dict[str, Any]
    types: dict[str, list[dict[str, str]]]
    primaryType: str  # noqa: N815 - the name of EIP-712
    message: dict[str, Any]


# What every write with an idempotency key may answer.
KEYED: Final = ("secret_not_accepted", "idempotency_key_reused", "idempotency_in_flight")


def own_write(route: str) -> Callable[[Caller, Any], str]:
    """The scope of idempotency keys on the writes of this side."""
    return lambda caller, request: f"{caller.user_id}:order:{route}"


def order_write(subject: str) -> Callable[[Caller, Any], str]:
    """Fields of a route whose path names an order: that is in no body."""
    return lambda caller, request: (
        f"{caller.user_id}:order:/wallet/order/{request.order_id}/{subject}"
    )


def address_of(deps: Deps, text: str) -> str:
    """EIP-55 form of an address.

    Errors: `invalid_address`; the venue would answer a malformed one with an empty result.
    """
    return deps.chains.address(text)


def venue_of(deps: Deps, network: Network) -> Venue:
    """The venue on a network. Errors: `not_configured`."""
    if deps.venues is None:
        raise Refused(refusal("not_configured", what="the venue"))
    return deps.venues.get(network)


def desk_of(deps: Deps) -> PaperExchange:
    """The simulated exchange behind paper orders. Errors: `not_configured`."""
    if deps.paper is None:
        raise Refused(refusal("not_configured", what="paper orders"))
    return deps.paper


def signed_in(caller: Caller) -> str:
    """The user id behind an owner's session."""
    if caller.user_id is None:
        raise Refused(refusal("unauthenticated", needs="an owner session"))
    return caller.user_id


def not_the_wallets(wallet: str) -> Refused:
    """The refusal of a signature over an approval that is not the linked wallet's."""
    why = "it is not the linked wallet's over this approval"
    return Refused(refusal("invalid_signature", signer=wallet, why=why))


async def live_side(deps: Deps, caller: Caller) -> tuple[Switches, Network, Link | None, bool]:
    """The switches, the network of live accounts, the caller's link on it, and whether he is on the
    allowlist."""
    user = signed_in(caller)

    def read(uow: UnitOfWork) -> tuple[Switches, Network, Link | None, bool]:
        now = switches(uow, deps.defaults)
        network = live_network(now)
        link = uow.venue.link_of(user, network)
        allowed = allowlisted(uow.allowlist.all(), user, link.wallet if link else None)
        return now, network, link, allowed

    return await deps.store.read(read)


def linked(link: Link | None, network: Network) -> Link:
    """The link, which the operation cannot do without. Errors: `not_linked`."""
    if link is None:
        raise Refused(refusal("not_linked", why=f"on the venue's {network} there is none"))
    return link


def own_link(uow: UnitOfWork, ctx: AnyContext) -> Link:
    """The caller's link on the live network. Errors: `not_linked`."""
    network = live_network(ctx.switches)
    return linked(uow.venue.link_of(signed_in(ctx.caller), network), network)
