"""Chain configurations, and the table of known networks: names, USDC, explorers, confirmations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

CALL_MS: Final = 3_000
# What an address of a chain is set for; the place is for the chain's number.
VAULTS: Final = "vaults on chain {}"
USDC: Final = "USDC on chain {}"
PAYMENTS: Final = "payments for web services on chain {}"


@dataclass(frozen=True, slots=True)
class ChainConfig:
    """The configuration of one chain, from the settings and the network table.

    Shapes: `rpc_urls` are further nodes, asked where `rpc_url` does not answer, and where several
    must agree. `public_rpc` is an address that may be published, for wallets that do not know the
    network, which `rpc_url` may not.
    Units: `confirmations` in blocks that must follow a log before it enters the ledger. `read_ms`
    and `call_ms` milliseconds: the total wait for the chain of a read that can be answered without
    it, and of a request that cannot. `head_age_s` seconds after which a newest block stands still
    (where there are confirmations), `issue_s` seconds without an agreement of the nodes after which
    reads report it.
    """

    chain_id: int
    rpc_url: str | None = None
    usdc: str | None = None
    factory: str | None = None
    lens: str | None = None
    purse_hub: str | None = None
    purse_deployer: str | None = None
    explorer: str | None = None
    confirmations: int = 24
    start_block: int = 0
    paymaster_url: str | None = None
    rpc_urls: tuple[str, ...] = ()
    name: str | None = None
    public_rpc: str | None = None
    read_ms: int = 300
    call_ms: int = CALL_MS
    head_age_s: int = 120
    issue_s: int = 300

    @property
    def nodes(self) -> tuple[str, ...]:
        """Addresses of all nodes, each once, in the order in which they are asked."""
        first = () if self.rpc_url is None else (self.rpc_url,)
        return tuple(dict.fromkeys((*first, *self.rpc_urls)))


# USDC: Circle's list of contract addresses
# (developers.circle.com/stablecoins/usdc-contract-addresses). Public RPC addresses: docs.base.org.
NETWORKS: Final[Mapping[int, ChainConfig]] = MappingProxyType(
    {
        8453: ChainConfig(
            8453,
            name="Base",
            usdc="0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
            explorer="https://basescan.org",
            public_rpc="https://mainnet.base.org",
        ),
        84532: ChainConfig(
            84532,
            name="Base Sepolia",
            usdc="0x036CbD53842c5426634e7929541eC2318f3dCF7e",
            explorer="https://sepolia.basescan.org",
            public_rpc="https://sepolia.base.org",
        ),
        31337: ChainConfig(31337, name="development chain", confirmations=0),
    }
)
