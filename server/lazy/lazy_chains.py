"""The configured chains, the sign-in texts and the house's key; their libraries are loaded when
the first call needs them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Final

from chain.rpc.deadlines import deadline
from domain.chain_facts import Call, Receipt
from domain.ports import Chain, Chains, HouseKeeper, SignInVerifier
from server.settings import ChainSettings, Settings

if TYPE_CHECKING:
    from chain.adapter import ChainConfig, EvmChain, EvmChains
    from chain.tx_sender import TxSender

UNNAMED_CONFIRMATIONS: Final = 24


def chain_facts(settings: Settings) -> list[ChainConfig]:
    """The settings of every configured chain over what is known of its network."""
    waits = {"read_ms": settings.chain_read_ms, "call_ms": settings.chain_call_ms}
    return [_facts(chain_id, own, waits) for chain_id, own in sorted(settings.chains.items())]


def _facts(chain_id: int, own: ChainSettings, waits: Mapping[str, int]) -> ChainConfig:
    from chain.adapter import ChainConfig, EvmChains
    from chain.networks import NETWORKS
    from server.retry_logging import tell_retries

    tell_retries()
    network = NETWORKS.get(chain_id)
    confirmations = own.confirmations
    if confirmations is None:
        confirmations = network.confirmations if network else UNNAMED_CONFIRMATIONS
    address = EvmChains([]).address
    return ChainConfig(
        chain_id=chain_id,
        rpc_url=own.rpc_url,
        usdc=address(own.usdc) if own.usdc else (network.usdc if network else None),
        factory=address(own.factory) if own.factory else None,
        lens=address(own.lens) if own.lens else None,
        head_age_s=own.head_age_s,
        issue_s=own.issue_s,
        explorer=own.explorer or (network.explorer if network else None),
        confirmations=confirmations,
        start_block=own.start_block,
        paymaster_url=own.paymaster_url,
        rpc_urls=tuple(url for url in own.rpc_urls.split(",") if url),
        name=own.name or (network.name if network else None),
        public_rpc=own.public_rpc or (network.public_rpc if network else None),
        **waits,
    )


class LazyChains(Chains):
    """The chains of the settings, made by the first call that needs one."""

    def __init__(self, settings: Settings):
        self._settings = settings
        self._made: EvmChains | None = None

    def load(self) -> EvmChains:
        """The real ones. Errors: `invalid_address` for a setting that is none."""
        if self._made is None:
            from chain.adapter import EvmChains

            self._made = EvmChains(chain_facts(self._settings))
        return self._made

    def get(self, chain_id: int) -> Chain:
        """Return the chain; `not_configured` for an id that no setting names."""
        return self.load().get(chain_id)

    def ids(self) -> Sequence[int]:
        """Ids of the configured chains, and of the known networks."""
        return self.load().ids()

    def with_rpc(self) -> Sequence[EvmChain]:
        """The chains that can be read."""
        return self.load().with_rpc()

    def request_deadline(self) -> AbstractContextManager[None]:
        """Within it a request waits for chains no longer than the setting says, in all."""
        return deadline(self._settings.chain_call_ms)

    def node_problem(self) -> Mapping[int, str]:
        """The chains of which nothing is believed."""
        return {} if self._made is None else self._made.node_problem()

    def faults(self) -> Mapping[int, Mapping[int, str]]:
        """Faults of nodes, by chain and by the node's place in the settings."""
        return {} if self._made is None else self._made.faults()

    def gauges(self) -> Mapping[str, int]:
        """Metrics of the nodes; empty before the first of them was asked."""
        return {} if self._made is None else self._made.gauges()

    def address(self, text: str) -> str:
        """Return the EIP-55 form. Errors: `invalid_address`."""
        return self.load().address(text)

    async def close(self) -> None:
        """Close what was opened."""
        if self._made is not None:
            await self._made.close()


class LazySignIn(SignInVerifier):
    """EIP-4361 texts (contract 2)."""

    def __init__(self) -> None:
        self._made: SignInVerifier | None = None

    @property
    def _real(self) -> SignInVerifier:
        if self._made is None:
            from chain.contracts.sign_in import SiweSignIn

            self._made = SiweSignIn()
        return self._made

    def message(
        self,
        *,
        address: str,
        chain_id: int,
        uri: str,
        nonce: str,
        issued: datetime,
        expires: datetime,
    ) -> str:
        """Write the message to sign."""
        return self._real.message(
            address=address,
            chain_id=chain_id,
            uri=uri,
            nonce=nonce,
            issued=issued,
            expires=expires,
        )

    def nonce(self, text: str) -> str | None:
        """Find the nonce that a text names."""
        return self._real.nonce(text)

    def digest(self, text: str) -> str:
        """EIP-191 hash, 0x hex."""
        return self._real.digest(text)


class LazyHouseKeeper(HouseKeeper):
    """Sends the house's transactions; the key is looked at by the first."""

    def __init__(self, chains: LazyChains, key: str):
        self._chains, self._key = chains, key
        self._made: TxSender | None = None

    def load(self) -> TxSender:
        """The real one. Errors: ValueError for a setting that is no key."""
        if self._made is None:
            from chain.tx_sender import TxSender

            self._made = TxSender(self._chains.load(), self._key)
        return self._made

    @property
    def address(self) -> str:
        """EIP-55 address of the key."""
        return self.load().address

    async def affords(self, chain_id: int) -> bool:
        """True where the key's gas money lasts for more than one that can wait."""
        return await self.load().affords(chain_id)

    async def send(self, call: Call) -> Receipt:
        """Sign, send and wait for the receipt."""
        return await self.load().send(call)
