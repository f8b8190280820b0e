"""What networks are called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

NAMES: Final[Mapping[int, str]] = {
    1: "Ethereum",
    8453: "Base",
    31337: "Development chain",
    84532: "Base Sepolia (test network)",
}


def chain_name(chain_id: int) -> str:
    """The name of a network, or its number where it has none here."""
    return NAMES.get(chain_id, f"Chain {chain_id}")
