"""The set of configured chains; what talks to them is loaded when the first call needs it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Final

from chain.networks import CALL_MS, NETWORKS, ChainConfig
from chain.rpc.deadlines import deadline
from domain.refusals import Refused, refusal

if TYPE_CHECKING:
    from chain.adapter import EvmChain

_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{40}")


class EvmChains:
    """The `domain.ports.Chains` port; `facts` may be a function that is called once, late."""

    def __init__(
        self,
        facts: Sequence[ChainConfig] | Callable[[], Sequence[ChainConfig]],
        call_ms: int | None = None,
    ):
        self._facts = facts
        self._loaded: dict[int, EvmChain] = {}
        if call_ms is None and not callable(facts):
            call_ms = max((f.call_ms for f in facts), default=None)
        self._call_ms = CALL_MS if call_ms is None else call_ms

    def load(self) -> Mapping[int, EvmChain]:
        """The chains by id, made once. Errors: `invalid_address` for a setting that is none."""
        if not self._loaded:
            from chain.adapter import EvmChain

            facts = self._facts() if callable(self._facts) else self._facts
            # A known network answers its pure questions even before an operator sets anything.
            configured = {f.chain_id: f for f in facts}
            configured |= {n: f for n, f in NETWORKS.items() if n not in configured}
            self._loaded = {n: EvmChain(f) for n, f in configured.items()}
        return self._loaded

    def get(self, chain_id: int) -> EvmChain:
        """Return the chain; `not_configured` for an id that no setting names."""
        chain = self.load().get(chain_id)
        if chain is None:
            raise Refused(refusal("not_configured", what=f"chain {chain_id}"))
        return chain

    def ids(self) -> Sequence[int]:
        """Ids of the configured chains, and of the known networks."""
        return tuple(self.load())

    def with_rpc(self) -> Sequence[EvmChain]:
        """The chains with an RPC address."""
        return tuple(c for c in self.load().values() if c.rpc_set)

    def request_deadline(self) -> AbstractContextManager[None]:
        """Context in which all chain reads of a request together wait no longer than `call_ms`."""
        return deadline(self._call_ms)

    def node_problem(self) -> Mapping[int, str]:
        """The problem of each chain whose answers are not used, by chain id."""
        return {n: c.node_problem for n, c in self._loaded.items() if c.node_problem}

    def faults(self) -> Mapping[int, Mapping[int, str]]:
        """Faults of nodes, by chain id and by the node's place in the settings."""
        faults = {n: dict(c.rpc.fault_names()) for n, c in self._loaded.items() if c.rpc}
        return {chain_id: nodes for chain_id, nodes in faults.items() if nodes}

    def gauges(self) -> Mapping[str, int]:
        """Metrics of the nodes; none before the chains are loaded."""
        values: dict[str, int] = {}
        for chain in self._loaded.values():
            values |= chain.gauges()
        return values

    @staticmethod
    def address(text: str) -> str:
        """Return the EIP-55 form of an address given in any case. Errors: `invalid_address`."""
        from eth_utils.address import is_checksum_address, to_checksum_address

        if not isinstance(text, str) or not _ADDRESS.fullmatch(text):
            why = "it is not 0x and 40 hex digits"
            raise Refused(refusal("invalid_address", value=repr(text)[:60], why=why))
        digits = text[2:]
        if digits not in (digits.lower(), digits.upper()) and not is_checksum_address(text):
            why = "its EIP-55 checksum is wrong"
            raise Refused(refusal("invalid_address", value=repr(text), why=why))
        return str(to_checksum_address(text))

    async def close(self) -> None:
        """Close every connection."""
        for chain in self._loaded.values():
            await chain.close()
