"""Deposit addresses: an agent's stored addresses, and the proven owner of an address."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from storage.sql import Sql, canonical, first, micros

IN_A_QUESTION: Final = 400


@dataclass(frozen=True, slots=True)
class DepositAddress:
    """An agent's address for a chain, lower case; `nonce` is what its next proof has to sign."""

    address: str
    nonce: int | None


class DepositAddressRepository:
    """Addresses on file, one an agent and chain; proofs, one an address and chain."""

    def __init__(self, sql: Sql):
        self._sql = sql

    def on_file(self, agent_id: str, chain_id: int) -> DepositAddress | None:
        """Return the stored addresses of a chain."""
        row = first(
            self._sql,
            "SELECT address, nonce FROM deposit_addresses "
            "WHERE agent_id = :id AND chain_id = :chain",
            id=agent_id,
            chain=chain_id,
        )
        if row is None:
            return None
        return DepositAddress(str(row["address"]), int(row["nonce"]) if row["nonce"] else None)

    def address(self, agent_id: str, chain_id: int) -> str | None:
        """The agent's wallet on file for a chain, lower case."""
        stored = self.on_file(agent_id, chain_id)
        return stored.address if stored else None

    def has_any(self, agent_id: str) -> bool:
        """True where the agent put a wallet on file for any chain."""
        text = "SELECT 1 AS one FROM deposit_addresses WHERE agent_id = :id LIMIT 1"
        return first(self._sql, text, id=agent_id) is not None

    def put(
        self, agent_id: str, chain_id: int, address: str, now: datetime, *, nonce: int | None
    ) -> None:
        """Put an address on file, with the nonce that proves it."""
        self._sql.run(
            "INSERT INTO deposit_addresses (agent_id, chain_id, address, set_at, nonce) "
            "VALUES (:id, :chain, :address, :at, :nonce) ON CONFLICT (agent_id, chain_id) DO "
            "UPDATE SET address = excluded.address, set_at = excluded.set_at, "
            "nonce = excluded.nonce",
            id=agent_id,
            chain=chain_id,
            address=address.lower(),
            at=micros(now),
            nonce=None if nonce is None else str(nonce),
        )

    # -- proofs

    def prove(
        self, agent_id: str, chain_id: int, address: str, now: datetime, **proof: object
    ) -> None:
        """Keep whose an address is: the agent's that it signed for last."""
        self._sql.run(
            "INSERT INTO proven_addresses (chain_id, address, agent_id, proven_at, proof) "
            "VALUES (:chain, :address, :id, :at, :proof) ON CONFLICT (chain_id, address) DO "
            "UPDATE SET agent_id = excluded.agent_id, proven_at = excluded.proven_at, "
            "proof = excluded.proof",
            chain=chain_id,
            address=address.lower(),
            id=agent_id,
            at=micros(now),
            proof=canonical(proof),
        )

    def is_proven(self, agent_id: str, chain_id: int, address: str) -> bool:
        """True where the address signed to be this agent's."""
        return self.holders(chain_id, [address]).get(address.lower()) == agent_id

    def proven(self, chain_id: int) -> dict[str, str]:
        """Address to agent id of all that were proven on a chain."""
        rows = self._sql.rows(
            "SELECT address, agent_id FROM proven_addresses WHERE chain_id = :chain",
            chain=chain_id,
        )
        return {r["address"]: r["agent_id"] for r in rows}

    def holders(self, chain_id: int, addresses: Iterable[str]) -> dict[str, str]:
        """Address to agent id, of those among `addresses` that were proven."""
        lowered, holders = sorted({a.lower() for a in addresses}), dict[str, str]()
        for start in range(0, len(lowered), IN_A_QUESTION):
            some = {f"a{n}": a for n, a in enumerate(lowered[start : start + IN_A_QUESTION])}
            rows = self._sql.rows(
                "SELECT address, agent_id FROM proven_addresses WHERE chain_id = :chain "
                f"AND address IN ({', '.join(':' + n for n in some)})",
                chain=chain_id,
                **some,
            )
            holders |= {r["address"]: r["agent_id"] for r in rows}
        return holders
