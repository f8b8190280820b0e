"""Names of networks."""

from __future__ import annotations

from collections.abc import Mapping


def chain_name(names: Mapping[int, str], chain_id: int) -> str:
    """The name of a network, or its number where this service has no other."""
    return names.get(chain_id, f"Chain {chain_id}")
