"""Purse checks of `wallet doctor`: whose vaults a hub serves, and whether USDC pays bills."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from chain.adapter import EvmChain
from chain.rpc.errors import NodeError
from server.cli.output import DoctorFinding

Answer: TypeAlias = tuple[Literal["answer", "revert"], str]

FACTORY: Final = "0x2dd31000"
"""FACTORY()"""
PAY: Final = "cf092995"
"""transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)"""
NOBODYS: Final = "cf092996"
PROXIES: Final = (
    "0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc",
    "0x7050c9e0f4ca769c69bd3a8ef740bc37934f8e2c036e5a723fd8ee048ed3f8c3",
)
"""Slots of a proxy's implementation: ERC-1967, and ZeppelinOS, which Circle's proxy is of."""
_WORD: Final = 64
_SOMEBODY: Final = ("11" * 20).zfill(_WORD)
_NEVER: Final = (
    _SOMEBODY * 2 + "0" * _WORD + "f" * _WORD * 2 + "0" * _WORD + "e0".zfill(_WORD) + "0" * _WORD
)
"""A payment of nothing that is valid after the end of time, with no signature."""


async def examine_hub(chain: EvmChain, subject: str, address: str) -> list[DoctorFinding]:
    """A hub or a deployer of hubs that belongs to another factory; nothing where it is ours."""
    factory = (chain.factory or "").removeprefix("0x").lower()
    if await _answer(chain, address, FACTORY) == ("answer", "0x" + factory.zfill(_WORD)):
        return []
    state = f"{address}: not of this chain's factory"
    return [DoctorFinding(f"{subject} factory", False, state, "its purses refuse the vaults")]


async def examine_payments(chain: EvmChain, subject: str, usdc: str) -> DoctorFinding:
    """Look whether USDC takes a payer's signature as bytes, as purses need (FiatTokenV2_2)."""
    if await _refuses_with_a_reason(chain, usdc) or await _has_in_its_code(chain, usdc):
        return DoctorFinding(subject, True, "transferWithAuthorization takes signatures as bytes")
    state = f"{usdc}: no transferWithAuthorization that takes signatures as bytes"
    return DoctorFinding(subject, False, state, "no bill of a purse is paid")


async def _refuses_with_a_reason(chain: EvmChain, usdc: str) -> bool:
    """True where a payment out of time reverts with data, and a function that nobody has does not
    revert with the same.
    """
    answer = await _answer(chain, usdc, "0x" + PAY + _NEVER)
    if answer[0] == "answer" or answer[1] == "0x":
        return False
    return answer != await _answer(chain, usdc, "0x" + NOBODYS + _NEVER)


async def _has_in_its_code(chain: EvmChain, usdc: str) -> bool:
    """True where the selector is pushed in the token's code, or in that behind its proxy: not every
    node tells what a call reverts with.
    """
    node = chain.node()
    slots = [await node.ask("eth_getStorageAt", usdc, slot, "latest") for slot in PROXIES]
    behind = ["0x" + str(word)[-40:] for word in slots if int(str(word), 16)]
    codes = [await node.ask("eth_getCode", address, "latest") for address in (usdc, *behind)]
    return any("63" + PAY in str(code).lower() for code in codes)


async def _answer(chain: EvmChain, address: str, data: str) -> Answer:
    """Ask a contract at the newest block: its answer, or what it reverts with, 0x hex."""
    try:
        answer = await chain.node().ask("eth_call", {"to": address, "data": data}, "latest")
    except NodeError as fault:
        return "revert", "0x" + (fault.data or b"").hex()
    return "answer", str(answer).lower()
