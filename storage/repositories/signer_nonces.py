"""Signer nonces: nonces of the messages that wallets sign for the venue."""

from __future__ import annotations

from storage.sql import Sql


class SignerNonceRepository:
    """The last nonce that was given out for a wallet; every process takes the next one here."""

    def __init__(self, sql: Sql):
        self._sql = sql

    def next(self, signer: str, now_ms: int) -> int:
        """A nonce that no other order of this wallet has; the present, or one more than the
        last.
        """
        rows = self._sql.rows(
            "INSERT INTO signer_nonces (signer, last) VALUES (:signer, :now) "
            "ON CONFLICT (signer) DO UPDATE SET last = CASE "
            "WHEN signer_nonces.last >= excluded.last THEN signer_nonces.last + 1 "
            "ELSE excluded.last END RETURNING last",
            signer=signer,
            now=now_ms,
        )
        return int(rows[0]["last"])
