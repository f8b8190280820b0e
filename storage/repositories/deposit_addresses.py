"""Deposit addresses: an agent's stored addresses, and the proven owner of an address."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from storage.sql import Repository, canonical, exists, first, micros, placeholders

IN_A_QUESTION: Final = 400
_PUT: Final = (
    "INSERT INTO deposit_addresses (agent_id, chain_id, address, set_at, nonce) "
    "VALUES (:id, :chain, :address, :at, :nonce) ON CONFLICT (agent_id, chain_id) DO "
    "UPDATE SET address = excluded.address, set_at = excluded.set_at, nonce = excluded.nonce"
)
_PROVE: Final = (
    "INSERT INTO proven_addresses (chain_id, address, agent_id, proven_at, proof) "
    "VALUES (:chain, :address, :id, :at, :proof) ON CONFLICT (chain_id, address) DO UPDATE SET "
    "agent_id = excluded.agent_id, proven_at = excluded.proven_at, proof = excluded.proof"
)
_PROVEN: Final = "SELECT address, agent_id FROM proven_addresses WHERE chain_id = :chain"


@dataclass(frozen=True, slots=True)
class DepositAddress:
    """An agent's address for a chain, lower case; `nonce` is what its next proof has to sign."""

    address: str
    nonce: int | None


class DepositAddressRepository(Repository):
    """Addresses on file, one an agent and chain; proofs, one an address and chain."""

    def on_file(self, agent_id: str, chain_id: int) -> DepositAddress | None:
        """Return the stored addresses of a chain."""
        where = "FROM deposit_addresses WHERE agent_id = :id AND chain_id = :chain"
        row = first(self._sql, f"SELECT address, nonce {where}", id=agent_id, chain=chain_id)
        if row is None:
            return None
        return DepositAddress(str(row["address"]), int(row["nonce"]) if row["nonce"] else None)

    def address(self, agent_id: str, chain_id: int) -> str | None:
        """The agent's wallet on file for a chain, lower case."""
        stored = self.on_file(agent_id, chain_id)
        return stored.address if stored else None

    def has_any(self, agent_id: str) -> bool:
        """True where the agent put a wallet on file for any chain."""
        return exists(self._sql, "deposit_addresses WHERE agent_id = :id", id=agent_id)

    def put(
        self, agent_id: str, chain_id: int, address: str, now: datetime, *, nonce: int | None
    ) -> None:
        """Put an address on file, with the nonce that proves it."""
        values = {"id": agent_id, "chain": chain_id, "address": address.lower(), "at": micros(now)}
        self._sql.run(_PUT, **values, nonce=None if nonce is None else str(nonce))

    def forget(self, agent_id: str, chain_id: int, address: str) -> None:
        """Take an address off file; whose it is stays proven."""
        text = "DELETE FROM deposit_addresses WHERE agent_id = :id AND chain_id = :chain "
        named = {"id": agent_id, "chain": chain_id, "address": address.lower()}
        self._sql.run(text + "AND address = :address", **named)

    # -- proofs

    def prove(
        self, agent_id: str, chain_id: int, address: str, now: datetime, **proof: object
    ) -> None:
        """Keep whose an address is: the agent's that it signed for last."""
        values = {"id": agent_id, "chain": chain_id, "address": address.lower(), "at": micros(now)}
        self._sql.run(_PROVE, **values, proof=canonical(proof))

    def is_proven(self, agent_id: str, chain_id: int, address: str) -> bool:
        """True where the address signed to be this agent's."""
        return self.holders(chain_id, [address]).get(address.lower()) == agent_id

    def proven(self, chain_id: int) -> dict[str, str]:
        """Address to agent id of all that were proven on a chain."""
        return {r["address"]: r["agent_id"] for r in self._sql.rows(_PROVEN, chain=chain_id)}

    def holders(self, chain_id: int, addresses: Iterable[str]) -> dict[str, str]:
        """Address to agent id, of those among `addresses` that were proven."""
        lowered, holders = sorted({a.lower() for a in addresses}), dict[str, str]()
        for start in range(0, len(lowered), IN_A_QUESTION):
            some = {f"a{n}": a for n, a in enumerate(lowered[start : start + IN_A_QUESTION])}
            text = f"{_PROVEN} AND address IN ({placeholders(some)})"
            rows = self._sql.rows(text, chain=chain_id, **some)
            holders |= {r["address"]: r["agent_id"] for r in rows}
        return holders
