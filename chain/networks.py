"""Network table: names, USDC addresses, explorers and confirmations of known chains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True)
class Network:
    """Facts of one network.

    Units: `confirmations` in blocks that must follow a log before it enters the ledger.
    `public_rpc` is a public address, for wallets that do not know the network.
    """

    chain_id: int
    name: str
    usdc: str | None
    explorer: str | None
    confirmations: int
    public_rpc: str | None = None


# USDC: Circle's list of contract addresses
# (developers.circle.com/stablecoins/usdc-contract-addresses). Public RPC addresses: docs.base.org.
NETWORKS: Final[Mapping[int, Network]] = MappingProxyType(
    {
        n.chain_id: n
        for n in (
            Network(
                8453,
                "Base",
                "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
                "https://basescan.org",
                24,
                "https://mainnet.base.org",
            ),
            Network(
                84532,
                "Base Sepolia",
                "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
                "https://sepolia.basescan.org",
                24,
                "https://sepolia.base.org",
            ),
            Network(31337, "development chain", None, None, 0),
        )
    }
)
