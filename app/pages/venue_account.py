"""The own account at the venue: linking, the order key, the keeper key, the builder fee."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final

from aiohttp import web

from app.components import refusal as refusals
from app.page_context import OperationRefused, PageRequest, PageRoute, whole_number
from app.replies import Record, pick
from app.words.text import _
from domain.refusals import Refused, refusal
from domain.trading.venue_values import Network

HERE: Final = "/app/own"
DAYS: Final = "14"
STEPS: Final[Mapping[str, str]] = {
    "link": _("Link the wallet that you trade with."),
    "enable": _("Approve an order key."),
    "verify": _("Ask the venue whether it knows your order key."),
    "renew": _("Your order key ends soon. Approve a new one."),
    "fund": _("Bring USDC to the venue: your account there is empty."),
    "builder_fee": _("If you want to: approve the builder fee. It is never required."),
}


def venue_url(visit: PageRequest, network: Network) -> str:
    """The URL at which a browser asks the venue by itself. Errors: `not_configured`."""
    if visit.deps.venues is None:
        raise Refused(refusal("not_configured", what="the venue"))
    return visit.deps.venues.get(network).url


def json_of(visit: PageRequest, name: str) -> object:
    """Parse JSON that a script put into a form field; text that is no JSON is passed on, and
    refused where it is validated.
    """
    try:
        return json.loads(visit.field(name) or "null")
    except (ValueError, RecursionError):
        return None


async def show_account(visit: PageRequest, refused: OperationRefused | None = None) -> web.Response:
    """The venue account page: linked wallets and approved keys."""
    view = Record(await _view(visit), problem=refusals.view(refused and refused.block))
    return visit.show("own.html", view, refused=refused, asks=(view["block"]["venue"],))


async def _view(visit: PageRequest) -> Record:
    """The account; in it `block` is what the page's script reads, None is "not known yet"."""
    status = await visit.run("own_status")
    terms, config = await visit.run("own_terms"), await visit.run("builder_fee_config")
    key, keeper, offer = status["order_key"], status["keeper_key"], status["enable_keeper"]
    typed_kind = "keeper" if visit.field("kind") == "keeper" else "order"
    keeper_name = keeper["name"] if keeper else offer["agent_name"] if offer else None
    return Record(
        status,
        steps=tuple(STEPS.get(s["step"], s["text"]) for s in status["next"]),
        terms=terms,
        paragraphs=tuple(_paragraphs(terms["text_en"])),
        fee=Record(config, **status["builder_fee"]) if config["configured"] else None,
        block=Record(
            pick(status, "network", "wallet"),
            key=key["address"] if key else None,
            keeper_name=keeper_name,
            name=status["enable"]["agent_name"],
            until=status["enable"]["max_valid_until"],
            venue=venue_url(visit, status["network"]),
            terms=terms["text_en"],
            address=None,
        ),
        challenge=None,
        typed=visit.field("address") or "",
        days=Record({"order": DAYS, "keeper": DAYS, typed_kind: visit.field("days") or DAYS}),
    )


def _paragraphs(text: str) -> Iterator[str]:
    """Numbered sentences, whatever the lines of the stored text are."""
    paragraph = ""
    for line in text.splitlines():
        begins = line.partition(".")[0].isdigit() and line[:1] != " "
        if begins and paragraph:
            yield paragraph
        paragraph = line.strip() if begins else f"{paragraph} {line.strip()}".strip()
    if paragraph:
        yield paragraph


async def challenge(visit: PageRequest) -> web.Response:
    """A text for the wallet that is to be linked; it is shown whole before it is signed."""
    address = visit.field("address") or ""
    try:
        response = await visit.run(
            "own_link_challenge", address=address, terms_sha256=visit.field("terms") or ""
        )
    except OperationRefused as refused:
        return await show_account(visit, refused)
    view, checked = await _view(visit), visit.deps.chains.address(address)
    block = Record(view["block"], address=checked, network=response["network"])
    created = Record(response, address=checked)
    view = Record(view, challenge=created, block=block, problem=None)
    return visit.show("own.html", view, status=201, asks=(block["venue"],))


async def link(visit: PageRequest) -> web.Response:
    """Hand in the signed text."""
    await visit.run(
        "own_link",
        challenge_id=visit.field("challenge_id") or "",
        signature=visit.field("signature") or "",
    )
    return visit.go(HERE)


async def enable(visit: PageRequest) -> web.Response:
    """Pass the wallet's approval of a key on, and ask the venue whether it has it."""
    kind = await _relay_approval(visit, revoke=False)
    with suppress(OperationRefused):  # then the page says that it is still to be asked
        await visit.run("own_enable_verify")
    return visit.go(f"{HERE}#{kind}")


async def revoke(visit: PageRequest) -> web.Response:
    """Pass the wallet's revocation on; here the key is dead at once."""
    return visit.go(f"{HERE}#{await _relay_approval(visit, revoke=True)}")


async def _relay_approval(visit: PageRequest, *, revoke: bool) -> str:
    """The part of the page that is about the key."""
    kind = visit.field("kind") or "order"
    await visit.run(
        "own_enable_relay",
        agent_address=visit.field("agent_address") or "",
        agent_name=visit.field("agent_name") or "",
        nonce=whole_number(visit.field("nonce")),
        signature_chain_id=visit.field("signature_chain_id") or "",
        signature=json_of(visit, "signature"),
        kind=kind,
        revoke=revoke,
    )
    return "keeper" if kind == "keeper" else "key"


async def verify(visit: PageRequest) -> web.Response:
    """Ask the venue whether it names the key."""
    await visit.run("own_enable_verify")
    return visit.go(f"{HERE}#key")


async def fee(visit: PageRequest) -> web.Response:
    """Record a builder fee that the browser approved at the venue, by the venue's own figure."""
    await visit.run(
        "builder_fee_record",
        wallet=visit.field("wallet") or "",
        max_fee_rate=visit.field("max_fee_rate") or "",
        nonce=whole_number(visit.field("nonce")),
        signature_chain_id=visit.field("signature_chain_id"),
        signature=json_of(visit, "signature"),
    )
    return visit.go(f"{HERE}#fee")


PAGES: Final = (
    PageRoute("GET", HERE, show_account),
    PageRoute("POST", f"{HERE}/challenge", challenge),
    PageRoute("POST", f"{HERE}/link", link, refused=show_account),
    PageRoute("POST", f"{HERE}/enable", enable, refused=show_account),
    PageRoute("POST", f"{HERE}/revoke", revoke, refused=show_account),
    PageRoute("POST", f"{HERE}/verify", verify, refused=show_account),
    PageRoute("POST", f"{HERE}/builder-fee", fee, refused=show_account),
)
