"""Action identity: one exact call of the vault."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from domain.money import Usdc


def selector_of(data: str) -> str:
    """The first four bytes of calldata, 0x and 8 lower-case digits; all of shorter data."""
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


class Actions(Protocol):
    """Names the calls of a vault; pure."""

    def action_hash(self, vault: str, target: str, data: str, approve_amount: Usdc) -> str:
        """keccak256(abi.encode(vault, target, keccak256(data), approveAmount)), 0x hex."""

    def action(self, vault: str, target: str, data: str, approve_amount: Usdc) -> Action:
        """The action that this very call is, with its hashes."""

    def action_called(self, vault: str, data: str) -> Action | None:
        """The action of calldata of the vault's execute or executeApproved; None for any other."""
