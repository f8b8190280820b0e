"""Venue URL policy: https, or http to this machine alone."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit


def plain_http_is_local(url: str) -> bool:
    """True for https, and for http to this very machine: nothing else may read or change what is
    sent."""
    parts = urlsplit(url)
    if parts.scheme == "https":
        return bool(parts.hostname)
    if parts.scheme != "http" or parts.hostname is None:
        return False
    if parts.hostname == "localhost":
        return True
    try:
        return ip_address(parts.hostname).is_loopback
    except ValueError:
        return False
