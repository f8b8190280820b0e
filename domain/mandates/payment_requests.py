"""Payment requests: the seller's 402 of x402, version 2, read strictly."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from domain.mandates.purses import TokenDomain
from domain.money import LIMIT_MICROS, Usdc
from domain.refusals import invalid
from domain.text import text_problem

VERSION: Final = 2
SCHEME: Final = "exact"
TRANSFER: Final = "eip3009"
IDENTIFIER: Final = "payment-identifier"
MAX_OPTIONS: Final = 32
MAX_URL: Final = 2_048
WINDOW_S: Final = 3_000
"""The longest that a bill is good for from when it is made: a purse takes an hour in all, by the
time of its block.
"""
_ATOMIC: Final = re.compile(r"[1-9][0-9]{0,18}")
# Another host would be read in two ways: by eye as one that looks like it, or by programs that part
# a URL elsewhere. Names of other scripts are written as DNS has them (xn--).
_HOST: Final = re.compile(r"[0-9a-z._:-]{1,253}")
_AT: Final = "payment_required"


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentRequest:
    """A purchase as its seller asks to be paid, by the one of its offers that is taken.

    Shapes: `accepted` is the offer and `echoed` what else a payment repeats (`resource`,
    `extensions`), both as the seller wrote them; `hosts` are the resource's, with and without its
    port.
    """

    resource: str
    host: str
    hosts: frozenset[str]
    amount: Usdc
    pay_to: str
    window_s: int
    token: TokenDomain
    accepted: Mapping[str, object]
    echoed: Mapping[str, object]
    takes_identifier: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Payable:
    """The means of this service: one network's USDC. `network` is CAIP-2, `usdc` EIP-55."""

    network: str
    usdc: str
    token: TokenDomain
    address: Callable[[str], str]


def read_payment_request(
    required: Mapping[str, object], choose: int | None, payable: Payable
) -> PaymentRequest:
    """Read a seller's PaymentRequired; the offer that `choose` counts to from 0, else the first
    that can be paid.

    Errors: `invalid_request`, `invalid_address`.
    """
    version = required.get("x402Version")
    if type(version) is not int or version != VERSION:
        raise invalid(f"{_AT}.x402Version", f"version {VERSION} of x402 is paid")
    resource, host, hosts = _resource(required.get("resource"))
    offers = required.get("accepts")
    if not isinstance(offers, list) or not 1 <= len(offers) <= MAX_OPTIONS:
        raise invalid(f"{_AT}.accepts", f"a list of 1 to {MAX_OPTIONS} offers")
    if choose is not None and choose >= len(offers):
        raise invalid("choose", f"there are {len(offers)} offers, counted from 0")
    place, offer = _taken(offers, choose, payable)
    loc = f"{_AT}.accepts.{place}"
    extensions = required.get("extensions")
    if extensions is not None and not isinstance(extensions, Mapping):
        raise invalid(f"{_AT}.extensions", "an object")
    echoed: dict[str, object] = {"resource": required["resource"]}
    if extensions:
        echoed["extensions"] = extensions
    return PaymentRequest(
        resource=resource,
        host=host,
        hosts=hosts,
        amount=_amount(f"{loc}.amount", offer.get("amount")),
        pay_to=_payee(f"{loc}.payTo", offer.get("payTo"), payable),
        window_s=_window(f"{loc}.maxTimeoutSeconds", offer.get("maxTimeoutSeconds")),
        token=_token(loc, offer.get("extra"), payable),
        accepted=offer,
        echoed=echoed,
        takes_identifier=_takes_identifier(extensions or {}),
    )


def _takes_identifier(extensions: Mapping[str, object]) -> bool:
    """True where the extension has the form into which an identifier is written."""
    own = extensions.get(IDENTIFIER)
    return isinstance(own, Mapping) and isinstance(own.get("info", {}), Mapping)


def _taken(
    offers: Sequence[object], choose: int | None, payable: Payable
) -> tuple[int, Mapping[str, object]]:
    """The offer that is paid, with its place."""
    problems = [_problem(offer, payable) for offer in offers]
    fitting = [n for n, problem in enumerate(problems) if problem is None]
    place = choose if choose is not None else next(iter(fitting), 0)
    problem, offer = problems[place], offers[place]
    if problem is not None or not isinstance(offer, Mapping):
        name, why = problem or ("", "an object")
        raise invalid(f"{_AT}.accepts.{place}{name}", why)
    return place, offer


def _problem(offer: object, payable: Payable) -> tuple[str, str] | None:
    """The reason that an offer is not paid here: a field, and what it has to be."""
    if not isinstance(offer, Mapping):
        return "", "an object"
    if offer.get("scheme") != SCHEME:
        return ".scheme", f"only {SCHEME} is paid"
    if offer.get("network") != payable.network:
        return ".network", f"the mandate pays on {payable.network}"
    asset = offer.get("asset")
    if not isinstance(asset, str) or asset.lower() != payable.usdc.lower():
        return ".asset", f"the mandate pays in USDC, {payable.usdc}"
    extra = offer.get("extra")
    if extra is not None and not isinstance(extra, Mapping):
        return ".extra", "an object"
    if (extra or {}).get("assetTransferMethod", TRANSFER) != TRANSFER:
        return ".extra.assetTransferMethod", f"only {TRANSFER} is paid"
    return None


def _resource(value: object) -> tuple[str, str, frozenset[str]]:
    """(url, host, hosts) of the resource."""
    url = value.get("url") if isinstance(value, Mapping) else None
    if not isinstance(url, str) or not 1 <= len(url) <= MAX_URL or text_problem(url, lines=False):
        raise invalid(f"{_AT}.resource.url", f"a URL of at most {MAX_URL} characters")
    hosts = hosts_of(url)
    parts = urlsplit(url) if hosts else None
    if parts is None or parts.username is not None or parts.password is not None:
        raise invalid(f"{_AT}.resource.url", "a URL with a host, without user and password")
    host = parts.hostname or ""
    if not _HOST.fullmatch(host):
        raise invalid(f"{_AT}.resource.url", "a URL whose host is in ASCII, as DNS has it")
    return url, host, hosts


def hosts_of(resource: str) -> frozenset[str]:
    """The host of a URL, alone and with its port; empty for a text that has none."""
    try:
        at = urlsplit(resource) if "//" in resource else None
        # A host that the terms name with a port is held to it, one without takes any.
        port = None if at is None else at.port or {"http": 80}.get(at.scheme, 443)
        host = None if at is None else at.hostname
    except ValueError:
        return frozenset()
    return frozenset() if host is None else frozenset({host, f"{host}:{port}"})


def host_of(resource: str) -> str | None:
    """The host of a URL without its port; None for a text that has none."""
    return min(hosts_of(resource), key=len, default=None)


def _amount(loc: str, value: object) -> Usdc:
    if not isinstance(value, str) or not _ATOMIC.fullmatch(value) or int(value) > LIMIT_MICROS:
        raise invalid(loc, "base units of USDC in decimal digits, more than 0, as a string")
    return Usdc(int(value))


def _payee(loc: str, value: object, payable: Payable) -> str:
    if not isinstance(value, str):
        raise invalid(loc, "the address that is paid")
    return payable.address(value)


def _window(loc: str, value: object) -> int:
    if value is None:
        return WINDOW_S
    if type(value) is not int or value < 1:
        raise invalid(loc, "whole seconds, more than 0")
    return min(value, WINDOW_S)


def _token(loc: str, extra: object, payable: Payable) -> TokenDomain:
    """The token as the seller names it, which is how it is signed: the token's own domain."""
    named = extra if isinstance(extra, Mapping) else {}
    for field, own in (("name", payable.token.name), ("version", payable.token.version)):
        if named.get(field, own) != own:
            raise invalid(f"{loc}.extra.{field}", f"the token's own {field} is {own}")
    return payable.token
