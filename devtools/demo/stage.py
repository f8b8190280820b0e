"""Chain, venue, service and people that the chapters of the demo share."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from chain.adapter import EvmChain
from chain.contracts import abi_codec
from devtools.demo.people import Owner
from devtools.demo.story import Story
from devtools.devnet import Devnet, environment
from devtools.local_wallet import LocalWallet
from domain.money import Usdc
from server.settings import Settings

CHAIN_ID: Final = 31337
ASKING_CHAIN_ID: Final = 31338  # whose factory keeps approvals


@dataclass(slots=True)
class DemoStage:
    """Chain, venue, service and people of the demo."""

    story: Story
    folder: Path
    net: Devnet
    settings: Settings
    base: str
    owner: Owner
    agent_wallet: LocalWallet
    chain: EvmChain
    asking: Devnet
    keeper_key: str = ""
    seen: dict[str, Any] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """The mandate's route."""
        return f"/wallet/mandates/{self.seen['id']}"

    @property
    def market(self) -> str:
        """The market's address."""
        return self.net.deployed.market or ""

    def service_env(self) -> dict[str, str]:
        """Environment of a subprocess that uses the same database and chain."""
        return {
            **environment(self.net, CHAIN_ID),
            "PATH": os.defpath,
            "WALLET_DATABASE_URL": self.settings.database_url,
            "WALLET_MARKETS_FILE": str(self.settings.markets_file),
            "WALLET_DOOR": "on",
            "WALLET_LOG_LEVEL": "ERROR",
            "WALLET_BASE_URL": self.base,
            "WALLET_CHAIN_READ_MS": str(self.settings.chain_read_ms),
            "WALLET_SERVICE_USER_KEY": self.seen["agent_key"],
        }

    def deposit_data(self, amount: Usdc) -> str:
        """Calldata of a deposit of the vault into the market."""
        return abi_codec.calldata("TestMarket", "deposit", (amount, self.seen["vault"]))
