"""The own account at the venue: linking, the order key, the keeper key, the builder fee."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any, Final

from aiohttp import web

from app.operations import OperationRefused
from app.page import PageRoute
from app.page_context import PageRequest
from app.views import venue_account
from domain.refusals import Refused, refusal
from domain.trading.venue_values import Network

HERE: Final = "/app/own"


def venue_url(visit: PageRequest, network: Network) -> str:
    """The URL at which a browser asks the venue by itself. Errors: `not_configured`."""
    if visit.deps.venues is None:
        raise Refused(refusal("not_configured", what="the venue"))
    return visit.deps.venues.get(network).url


def json_of(visit: PageRequest, name: str) -> Any:
    """Parse JSON that a script put into a form field; text that is no JSON is passed on, and
    refused where it is validated.
    """
    try:
        return json.loads(visit.field(name) or "null")
    except (ValueError, RecursionError):
        return None


def parse_number(visit: PageRequest, name: str) -> int | None:
    """A whole number of the form; None for what is none."""
    typed = visit.field(name) or ""
    return int(typed) if typed.isascii() and typed.isdigit() and len(typed) < 17 else None


async def show_account(visit: PageRequest) -> web.Response:
    """The venue account page: linked wallets and approved keys."""
    return await _show(visit)


async def _show(visit: PageRequest, refused: OperationRefused | None = None) -> web.Response:
    view = await _view(visit)
    if refused is not None:
        view = venue_account.refused(view, refused.block)
    return _answer(visit, view, 200 if refused is None else refused.status)


def _answer(
    visit: PageRequest, view: venue_account.VenueAccountView, status: int = 200
) -> web.Response:
    return visit.show("own.html", view, status=status, asks=(view.block["venue"],))


async def _view(visit: PageRequest) -> venue_account.VenueAccountView:
    status = await visit.run("own_status")
    terms, config = await visit.run("own_terms"), await visit.run("builder_fee_config")
    return venue_account.view(status, terms, config, venue_url(visit, status["network"]))


async def challenge(visit: PageRequest) -> web.Response:
    """A text for the wallet that is to be linked; it is shown whole before it is signed."""
    address = visit.field("address") or ""
    try:
        response = await visit.run(
            "own_link_challenge", address=address, terms_sha256=visit.field("terms") or ""
        )
    except OperationRefused as refused:
        return await _show(visit, refused)
    view = venue_account.with_challenge(
        await _view(visit), response, visit.deps.chains.address(address)
    )
    return _answer(visit, view, 201)


async def link(visit: PageRequest) -> web.Response:
    """Hand in the signed text."""
    try:
        await visit.run(
            "own_link",
            challenge_id=visit.field("challenge_id") or "",
            signature=visit.field("signature") or "",
        )
    except OperationRefused as refused:
        return await _show(visit, refused)
    return visit.go(HERE)


async def enable(visit: PageRequest) -> web.Response:
    """Pass the wallet's approval of a key on, and ask the venue whether it has it."""
    return await _relay_approval(visit, revoke=False)


async def revoke(visit: PageRequest) -> web.Response:
    """Pass the wallet's revocation on; here the key is dead at once."""
    return await _relay_approval(visit, revoke=True)


async def _relay_approval(visit: PageRequest, *, revoke: bool) -> web.Response:
    kind = visit.field("kind") or "order"
    try:
        await visit.run(
            "own_enable_relay",
            agent_address=visit.field("agent_address") or "",
            agent_name=visit.field("agent_name") or "",
            nonce=parse_number(visit, "nonce"),
            signature_chain_id=visit.field("signature_chain_id") or "",
            signature=json_of(visit, "signature"),
            kind=kind,
            revoke=revoke,
        )
    except OperationRefused as refused:
        return await _show(visit, refused)
    if not revoke:
        with suppress(OperationRefused):  # then the page says that it is still to be asked
            await visit.run("own_enable_verify")
    return visit.go(f"{HERE}#{'keeper' if kind == 'keeper' else 'key'}")


async def verify(visit: PageRequest) -> web.Response:
    """Ask the venue whether it names the key."""
    try:
        await visit.run("own_enable_verify")
    except OperationRefused as refused:
        return await _show(visit, refused)
    return visit.go(f"{HERE}#key")


async def fee(visit: PageRequest) -> web.Response:
    """Record a builder fee that the browser approved at the venue, by the venue's own figure."""
    try:
        await visit.run(
            "builder_fee_record",
            wallet=visit.field("wallet") or "",
            max_fee_rate=visit.field("max_fee_rate") or "",
            nonce=parse_number(visit, "nonce"),
            signature_chain_id=visit.field("signature_chain_id"),
            signature=json_of(visit, "signature"),
        )
    except OperationRefused as refused:
        return await _show(visit, refused)
    return visit.go(f"{HERE}#fee")


PAGES: Final = (
    PageRoute(method="GET", path=HERE, show=show_account),
    PageRoute(method="POST", path=f"{HERE}/challenge", show=challenge),
    PageRoute(method="POST", path=f"{HERE}/link", show=link),
    PageRoute(method="POST", path=f"{HERE}/enable", show=enable),
    PageRoute(method="POST", path=f"{HERE}/revoke", show=revoke),
    PageRoute(method="POST", path=f"{HERE}/verify", show=verify),
    PageRoute(method="POST", path=f"{HERE}/builder-fee", show=fee),
)
