"""URL policy for webhooks: only public addresses and allowed ports (SSRF protection)."""

from __future__ import annotations

import ipaddress
import re
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from domain.refusals import invalid

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

PORTS: Final = frozenset({443, 8443})
URL_MOST: Final = 500
NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
LOCAL_NAMES: Final = (".localhost", ".local", ".internal")
# IPv6 that stands for IPv4 (RFC 6052, 3056, 4380): what it stands for is what counts.
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
# All that IANA has given out of IPv6 for the internet. The old site-local addresses (RFC 3879) are
# outside.
_UNICAST: Final = ipaddress.IPv6Network("2000::/3")
# What the standard library does not know, in each of its versions, to be left out of the internet
# (RFC 9637; RFC 6890 and RFC 7600: the dummy address of IPv4; RFC 7526).
_NOT_ROUTED: Final = tuple(
    ipaddress.ip_network(left_out) for left_out in ("3fff::/20", "192.0.0.0/24", "192.88.99.0/24")
)


def is_public_address(text: str) -> bool:
    """True for an address of the public internet: not private, shared, loopback, link-local,
    multicast or reserved, in whatever form it is written.
    """
    try:
        address: Address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        if (inner := _inside(address)) is not None:
            return is_public_address(str(inner))
        if address not in _UNICAST:
            return False
    if any(address in left_out for left_out in _NOT_ROUTED):
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def _inside(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else None)


def check_webhook_url(url: str, *, base_url: str, private: bool) -> str:
    """A webhook's URL, if it may be one; where its host points is looked at before each call.

    `private`: plain http, any port and addresses that are not public are taken too, for tests.
    Errors: `invalid_request`.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
        host = (parts.hostname or "").rstrip(".").encode("ascii").decode().lower()
    except ValueError:
        raise invalid("url", "it is no URL with a host in ASCII") from None
    if len(url) > URL_MOST or any(not 0x20 < ord(c) < 0x7F for c in url) or "\\" in url:
        raise invalid("url", f"up to {URL_MOST} characters of ASCII, percent-encoded")
    if parts.scheme != "https" and not (private and parts.scheme == "http"):
        raise invalid("url", "it begins with https://")
    if parts.username is not None or parts.password is not None or "@" in parts.netloc:
        raise invalid("url", "a URL is stored and shown: it holds no credentials")
    if parts.fragment or not host:
        raise invalid("url", "a host, a path and a query; no fragment")
    if not private:
        own = (urlsplit(base_url).hostname or "").lower()
        _require_public(host, 443 if port is None else port, own)
    return url


def _require_public(host: str, port: int, own: str) -> None:
    if port not in PORTS:
        raise invalid("url", "its port is 443 or 8443")
    if host == own:
        raise invalid("url", "it is this service's own host")
    try:
        ipaddress.ip_address(host)
    except ValueError:
        # What is read as IPv4 in a short, octal or hexadecimal form (127.1, 0177.0.0.1, 1.0x7f):
        # no name of the internet ends so (WHATWG URL, "ends in a number").
        in_number = NUMBER.fullmatch(host.rpartition(".")[2])
        if "." not in host or host.endswith(LOCAL_NAMES) or in_number:
            raise invalid("url", "it is not a name of the public internet") from None
        return
    if not is_public_address(host):
        raise invalid("url", "it is not an address of the public internet")
