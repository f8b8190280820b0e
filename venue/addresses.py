"""Venue URL policy: https, or plain http to this machine."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit


def plain_http_is_local(url: str) -> bool:
    """True for https, and for plain http to the loopback interface."""
    address = urlsplit(url)
    if address.scheme == "https":
        return bool(address.hostname)
    if address.scheme != "http" or address.hostname is None:
        return False
    if address.hostname == "localhost":
        return True
    try:
        return ip_address(address.hostname).is_loopback
    except ValueError:
        return False
