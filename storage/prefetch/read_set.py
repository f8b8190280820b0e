"""Read set: the rows that a handler declares before it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

# The newest rows that come along where they are asked for.
ROWS_SHOWN = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSet:
    """The rows to prefetch; a handler that reads more is run in a transaction of its own instead.

    Of each of the `mandates`, by public id: the mandate, its ledger's head and folded state, what
    the owner decides and decided, calldata handed out, its agent's policy, what the chain reader
    staged of its vault, orders of the day; and the switches. `shows_rows`: the newest rows too.
    `credential` is the hash of a key or a session's token: whose it is. `now`, UTC: what is over
    by then stays behind. A write names one mandate, its idempotency key with the scope before it,
    and the transaction (lower case) whose rows it looks at.
    """

    now: datetime
    mandates: Sequence[str] = ()
    shows_rows: bool = False
    credential: str | None = None
    key: tuple[str, str] | None = None
    tx_hash: str | None = None

    def of_call(self, credential: str | None, key: tuple[str, str] | None) -> ReadSet:
        """With whose call it is; every report comes through here, where `replace` is slow."""
        return ReadSet(
            now=self.now,
            mandates=self.mandates,
            shows_rows=self.shows_rows,
            credential=credential,
            key=key,
            tx_hash=self.tx_hash,
        )
