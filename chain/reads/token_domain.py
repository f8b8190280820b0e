"""The name under which USDC takes signed transfers."""

from __future__ import annotations

from typing import Final

from eth_abi import decode
from eth_abi.exceptions import DecodingError
from eth_utils import keccak

from chain.networks import USDC
from chain.reads.blocks import BlockReader
from chain.rpc import decoding
from chain.rpc.errors import NodeError
from domain.chain_facts import BlockStamp
from domain.mandates.purses import TokenDomain

_NAME: Final = "0x" + keccak(text="name()")[:4].hex()
_VERSION: Final = "0x" + keccak(text="version()")[:4].hex()
_SEPARATOR: Final = "0x" + keccak(text="DOMAIN_SEPARATOR()")[:4].hex()


async def token_domain(view: BlockReader, block: BlockStamp) -> TokenDomain:
    """The name and version under which USDC takes signatures, held against its own separator.

    Errors: `chain_unavailable` where the token does not tell them.
    """
    usdc, node = view.configured(USDC, view.usdc), view.node()
    try:
        name, version = [
            str(decode(["string"], await view.eth_call(usdc, data, block))[0])
            for data in (_NAME, _VERSION)
        ]
        separator = "0x" + (await view.eth_call(usdc, _SEPARATOR, block)).hex()
    except (NodeError, DecodingError, *decoding.NONSENSE):
        raise node.unavailable("its USDC takes no signed transfers (EIP-3009)") from None
    token = TokenDomain(name=name, version=version)
    if view.token_separator(token) != separator:
        raise node.unavailable("its USDC signs under another name than its own")
    return token
