"""What identifies an action: target, calldata, amount."""

from __future__ import annotations

import hashlib

from domain.money import Usdc


def selector_of(data: str) -> str:
    """The first four bytes of calldata, 0x and 8 lower-case digits; what there is of shorter
    data.
    """
    return data[:10].lower()


def action_hash_of(target: str, selector: str, amount: Usdc, data: str) -> str:
    """`target:selector:amount:sha256(data)`, lower case.

    The parts that the vault's log repeats stand in front, so that an executed call finds its
    reservation.
    """
    digest = hashlib.sha256(data.lower().encode()).hexdigest()
    return f"{target.lower()}:{selector.lower()}:{amount.micros}:{digest}"


def action_hash(target: str, data: str, amount: Usdc) -> str:
    """The hash of one call."""
    return action_hash_of(target, selector_of(data), amount, data)
