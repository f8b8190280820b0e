"""The own account at the venue: links and approvals, and the rights of a key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from app.replies import Json
from app.views.components import refusal
from app.views.components.refusal import RefusalView
from app.words.text import _

STEPS: Final[Mapping[str, str]] = {
    "link": _("Link the wallet that you trade with."),
    "enable": _("Approve an order key."),
    "verify": _("Ask the venue whether it knows your order key."),
    "renew": _("Your order key ends soon. Approve a new one."),
    "fund": _("Bring USDC to the venue: your account there is empty."),
    "builder_fee": _("If you want to: approve the builder fee. It is never required."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class VenueKeyView:
    """An approved key, as the venue named it last."""

    address: str
    name: str
    valid_until: str
    checked_at: str | None
    listed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyOfferView:
    """A key of the signer that the wallet may approve."""

    address: str
    name: str
    until: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BuilderFeeView:
    """The builder fee, and what the venue says of its approval."""

    builder: str
    rate: str
    on: str
    costs: str
    approved: bool
    stale: bool
    revoke_note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkChallengeView:
    """A text that waits for the wallet's signature."""

    challenge_id: str
    address: str
    message: str
    expires_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VenueAccountView:
    """The account. `block` is what the page's script reads; None is "not known yet"."""

    wallet: str | None
    network: str
    linked_at: str | None
    enabled: bool
    key: VenueKeyView | None
    keeper: VenueKeyView | None
    offer: KeyOfferView | None
    equity: str | None
    funded: bool | None
    allowlisted: bool
    mode: str
    stale: bool
    steps: tuple[tuple[str, str], ...]
    terms_sha256: str
    terms: tuple[str, ...]
    fee: BuilderFeeView | None
    block: Json
    challenge: LinkChallengeView | None = None
    problem: RefusalView | None = None


def _key(raw: Json | None) -> VenueKeyView | None:
    return (
        None
        if raw is None
        else VenueKeyView(**{n: raw[n] for n in VenueKeyView.__dataclass_fields__})
    )


def _offer(raw: Json | None) -> KeyOfferView | None:
    if raw is None:
        return None
    return KeyOfferView(
        address=raw["agent_address"], name=raw["agent_name"], until=raw["max_valid_until"]
    )


def _fee(config: Json, status: Json) -> BuilderFeeView | None:
    if not config["configured"]:
        return None
    example = config["cost_example"]
    return BuilderFeeView(
        builder=config["builder"],
        rate=config["max_fee_rate"],
        on=example["notional"],
        costs=example["fee"],
        approved=status["approved"],
        stale=status["stale"],
        revoke_note=config["revoke_note"],
    )


def _paragraphs(text: str) -> tuple[str, ...]:
    """Numbered sentences, whatever the lines of the stored text are."""
    paragraphs: list[str] = []
    for line in text.splitlines():
        first = line.partition(".")[0]
        if not paragraphs or (first.isdigit() and line[:1] != " "):
            paragraphs.append(line.strip())
        elif line.strip():
            paragraphs[-1] = f"{paragraphs[-1]} {line.strip()}"
    return tuple(p for p in paragraphs if p)


def view(status: Json, terms: Json, config: Json, venue: str) -> VenueAccountView:
    """`status` of own_status, `terms` of own_terms, `config` of builder_fee_config; `venue` is
    where a browser asks the venue by itself.
    """
    key, enable = _key(status["order_key"]), status["enable"]
    keeper, offer = _key(status["keeper_key"]), _offer(status["enable_keeper"])
    return VenueAccountView(
        wallet=status["wallet"],
        network=status["network"],
        linked_at=status["linked_at"],
        enabled=status["enabled"],
        key=key,
        keeper=keeper,
        offer=offer,
        equity=status["equity_usdc"],
        funded=status["funded"],
        allowlisted=status["allowlisted"],
        mode=status["mode"],
        stale=status["stale"],
        steps=tuple((s["step"], STEPS.get(s["step"], s["text"])) for s in status["next"]),
        terms_sha256=terms["sha256"],
        terms=_paragraphs(terms["text_en"]),
        fee=_fee(config, status["builder_fee"]),
        block={
            "network": status["network"],
            "wallet": status["wallet"],
            "key": key.address if key else None,
            "keeper_name": keeper.name if keeper else offer.name if offer else None,
            "name": enable["agent_name"],
            "until": enable["max_valid_until"],
            "venue": venue,
            "terms": terms["text_en"],
            "address": None,
        },
    )


def with_challenge(view: VenueAccountView, raw: Json, address: str) -> VenueAccountView:
    """The account with a text to sign."""
    created = LinkChallengeView(
        challenge_id=raw["challenge_id"],
        address=address,
        message=raw["message"],
        expires_at=raw["expires_at"],
    )
    block = {**view.block, "address": address, "network": raw["network"]}
    return replace(view, challenge=created, block=block)


def refused(view: VenueAccountView, block: Json) -> VenueAccountView:
    """The account after something was refused."""
    return replace(view, problem=refusal.view(block, None))
