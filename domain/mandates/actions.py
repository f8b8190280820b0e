"""What identifies an action: the very call of the vault."""

from __future__ import annotations

from dataclasses import dataclass

from domain.money import Usdc


def selector_of(data: str) -> str:
    """The first four bytes of calldata, 0x and 8 lower-case digits; what there is of shorter
    data.
    """
    return data[:10].lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One exact call through a vault (contract 6).

    Shapes: `action_hash` = keccak256(abi.encode(vault, target, keccak256(data), approveAmount))
    and `data_hash` = keccak256(data), 0x and 64 lower-case digits; `target` is lower case.
    """

    action_hash: str
    target: str
    selector: str
    data_hash: str
    amount: Usdc
