"""Mandates: searchable values in columns, the rest as canonical JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Final

from domain.mandates.mandate import Mandate, TermsFrame
from domain.mandates.targets import Target
from domain.refusals import Refused, refusal
from storage.codec import Codec, Codecs, hints_of
from storage.cursors import cursor_of, keys_of
from storage.repositories.leases import UNPAID_FEE
from storage.repositories.mandate_polling import MandatePollingRepository
from storage.sql import (
    Duplicate,
    Row,
    Sql,
    canonical,
    columns,
    first,
    maybe_micros,
    maybe_moment,
    micros,
)

POLLED: Final = ("refreshed_at", "differs_at")
_FRAME: Final = Codec(
    lambda frame: [frame.issued_at, frame.ends_at, str(frame.nonce)],
    lambda raw: TermsFrame(raw[0], raw[1], int(raw[2])),
)
_TARGET: Final = Codec(Target.as_json, Target.from_json)
_WORDS: Final = Codec(list, lambda raw: tuple(raw or ()))  # older rows have null
# The body has every field but those that a poller writes; some stand in columns as well.
BODY: Final = (
    Codecs(special={TermsFrame: _FRAME, Target: _TARGET, tuple[str, ...]: _WORDS})
    .record(Mandate, [name for name in hints_of(Mandate) if name not in POLLED])
    .as_text()
)
_COLUMNS: Final = (
    "public_id", "owner_id", "agent_id", "open_board", "status", "chain_id", "vault_lower",
    "accepted_at", "created_at", "refreshed_at", "proposed_by", "version", "body",
)  # fmt: skip
PARSED: Final = 4_096
_SELECT: Final = "SELECT body, version, refreshed_at, differs_at FROM mandates"
BY_ID: Final = f"{_SELECT} WHERE public_id = :id"
BY_VAULT: Final = f"{_SELECT} WHERE chain_id = :chain AND vault_lower = :vault"
# A plan is made once, perhaps while the table is empty, and kept while it grows: each vault is
# looked for by its key. Locked in the order of the ids, two that lock some never wait for each
# other in a circle; whoever waited for one looks at the row as it has become.
BY_VAULTS: Final[Mapping[str, str]] = {
    "postgresql": """
SELECT m.* FROM (
  SELECT i.public_id, v.vault FROM unnest(:vaults::text[]) AS v(vault) CROSS JOIN LATERAL (
    SELECT public_id FROM mandates WHERE chain_id = :chain AND vault_lower = v.vault OFFSET 0
  ) i ORDER BY i.public_id
) q CROSS JOIN LATERAL (
  SELECT body, version, refreshed_at, differs_at FROM mandates
  WHERE public_id = q.public_id AND vault_lower = q.vault FOR UPDATE
) m""",
    "sqlite": f"{_SELECT} "
    "WHERE chain_id = :chain AND vault_lower IN (SELECT value FROM json_each(:vaults))",
}
_INSERT: Final = f"INSERT INTO mandates {columns(_COLUMNS)}"
_SETS: Final = (f"{n} = :{n}" for n in _COLUMNS if n not in ("public_id", "refreshed_at"))
_SAVE: Final = (
    f"UPDATE mandates SET {', '.join(_SETS)} WHERE public_id = :public_id AND version = :was"
)
_NON_DRAFT: Final = (
    f"{_SELECT} WHERE owner_id = :owner AND status NOT IN ('draft', 'cancelled') "
    "AND (created_at, public_id) > (:at, :last) ORDER BY created_at, public_id LIMIT :most"
)
_IDS_OF_AGENT: Final = (
    "SELECT public_id FROM mandates WHERE agent_id = :agent AND (:owner = '' "
    "OR owner_id = :owner) ORDER BY public_id"
)
_BUSY: Final = (
    "SELECT m.public_id, m.created_at AS made, (SELECT MAX(e.created_at) "
    "FROM ledger_events e WHERE e.public_id = m.public_id) AS newest FROM mandates m "
    "JOIN ledger_heads l ON l.public_id = m.public_id "
    "WHERE m.agent_id = :agent AND (:owner = '' OR m.owner_id = :owner) "
    "AND (m.created_at, m.public_id) > (:made, :last) "
    "ORDER BY m.created_at, m.public_id LIMIT :most"
)
_TO_REFRESH: Final = (
    f"{_SELECT} WHERE chain_id = :chain AND vault_lower IS NOT NULL "
    "AND (refreshed_at IS NULL OR refreshed_at <= :since OR refreshed_at > :now) "
    "AND (status <> 'settled' OR EXISTS (SELECT 1 FROM work_claims w "
    "WHERE w.kind = :unpaid AND w.key = mandates.public_id AND w.until_at <= :now)) "
    "ORDER BY CASE WHEN refreshed_at IS NULL THEN 0 ELSE 1 END, refreshed_at, public_id LIMIT :most"
)


@dataclass(frozen=True, slots=True)
class ActiveMandate:
    """A mandate that has rows: when it was made, and when its newest row was, in micros."""

    public_id: str
    made: int
    newest: int


class MandateRepository(MandatePollingRepository):
    """The mandates table; one that `holds` asks for what it has locked once, and no poller's
    columns are changed beside it.
    """

    def __init__(self, sql: Sql, *, holds: bool = False):
        super().__init__(sql)
        self._lock = sql.locks
        self._versions: dict[str, int] = {}
        self._holds, self._held = holds, dict[tuple[object, ...], Mandate | None]()

    def add(self, mandate: Mandate) -> None:
        """Store a new mandate."""
        self._sql.run(_INSERT, **_row(mandate, 1))
        self._versions[mandate.public_id] = 1

    def get(self, public_id: str, *, lock: bool = False) -> Mandate | None:
        """One mandate; `lock` keeps other writers off it until the end of the transaction."""
        return self._page_of((public_id,), BY_ID, lock=lock, id=public_id)

    def _page_of(
        self, key: tuple[object, ...], query: str, *, lock: bool, **values: object
    ) -> Mandate | None:
        if lock and key in self._held:
            return self._held[key]
        row = first(self._sql, query + (self._lock if lock else ""), **values)
        if row is None:
            return None
        mandate = self._mandate(row)
        if lock and self._holds:
            # Until the end of the transaction it is changed by `save` alone.
            self._held[key] = mandate
        return mandate

    def save(self, mandate: Mandate) -> None:
        """Store a changed mandate. Errors: `conflict` when another transaction changed it since it
        was read, or its vault belongs to another mandate.
        """
        own = (mandate.chain_id, mandate.vault_address.lower() if mandate.vault_address else None)
        stay = {k: h for k, h in self._held.items() if k != own}
        self._held = {
            k: h for k, h in stay.items() if h is None or h.public_id != mandate.public_id
        }
        was = self._versions[mandate.public_id]
        try:
            changed = self._sql.run(_SAVE, **_row(mandate, was + 1), was=was)
        except Duplicate:
            raise _conflict("That vault belongs to another mandate.") from None
        if changed != 1:
            raise _conflict("The mandate was changed by another request at the same time.")
        self._versions[mandate.public_id] = was + 1

    def _mandate(self, row: Row, *, once: bool = False) -> Mandate:
        mandate: Mandate = BODY.load(row["body"]) if once else _parsed(row["body"])
        read, differs = maybe_moment(row["refreshed_at"]), maybe_moment(row["differs_at"])
        if read is not None or differs is not None:
            mandate = replace(mandate, refreshed_at=read, differs_at=differs)
        self._versions[mandate.public_id] = int(row["version"])
        return mandate

    def _page(
        self, where: str, after: str | None, limit: int, values: Mapping[str, object]
    ) -> list[Mandate]:
        at, last = keys_of(after, (int, str)) if after else (2**62, "")
        text = (
            f"{_SELECT} WHERE {where} AND (created_at, public_id) < (:at, :last) "
            "ORDER BY created_at DESC, public_id DESC LIMIT :most"
        )
        return [
            self._mandate(r) for r in self._sql.rows(text, **values, at=at, last=last, most=limit)
        ]

    def of_owner(
        self,
        owner_id: str,
        *,
        after: str | None,
        limit: int,
        proposed_only: bool = False,
        status: str | None = None,
    ) -> list[Mandate]:
        """An owner's mandates, newest first."""
        where = "owner_id = :owner" + (
            " AND proposed_by IS NOT NULL AND status = 'draft'" if proposed_only else ""
        )
        return self._of(where, after, limit, status, owner=owner_id)

    def of_agent(
        self, agent_id: str, *, after: str | None, limit: int, status: str | None = None
    ) -> list[Mandate]:
        """The mandates that name an agent, newest first."""
        return self._of("agent_id = :agent", after, limit, status, agent=agent_id)

    def _of(
        self, where: str, after: str | None, limit: int, status: str | None, **values: str
    ) -> list[Mandate]:
        if status:
            where, values = f"{where} AND status = :status", values | {"status": status}
        return self._page(where, after, limit, values)

    def offers(self, agent_id: str, *, after: str | None, limit: int) -> list[Mandate]:
        """Mandates this agent may accept, newest first: those that name it, then those of the
        open board, which strangers can fill.
        """
        open_for = "accepted_at IS NULL AND status IN ('draft', 'signed', 'working') AND "
        name, at, last = keys_of(after, (int, int, str)) if after else (1, 2**62, "")
        offers: list[Mandate] = []
        if name:
            where = open_for + "agent_id = :agent"
            offers = self._page(where, cursor_of(at, last), limit, {"agent": agent_id})
            at, last = 2**62, ""
        if len(offers) < limit:
            where = open_for + "agent_id IS NULL AND open_board = 1"
            offers += self._page(where, cursor_of(at, last), limit - len(offers), {})
        return offers

    def by_vault(self, chain_id: int, address: str, *, lock: bool = False) -> Mandate | None:
        """The mandate of a vault; `lock` as in `get`."""
        vault = address.lower()
        return self._page_of((chain_id, vault), BY_VAULT, lock=lock, chain=chain_id, vault=vault)

    def hold_vaults(self, chain_id: int, addresses: Iterable[str]) -> list[Mandate]:
        """Lock the mandates of some vaults at once; until the end of the transaction neither they
        nor the vaults without any are asked for again.
        """
        vaults = sorted({address.lower() for address in addresses})
        on_postgres = self._sql.dialect == "postgresql"
        rows = self._sql.rows(
            BY_VAULTS[self._sql.dialect],
            chain=chain_id,
            vaults=vaults if on_postgres else canonical(vaults),
        )
        mandates = [self._mandate(row) for row in rows]
        self._held |= dict.fromkeys((chain_id, vault) for vault in vaults)
        for mandate in mandates:
            self._held[chain_id, (mandate.vault_address or "").lower()] = mandate
            self._held[mandate.public_id,] = mandate
        return mandates

    def non_draft_of_owner(self, owner_id: str, *, after: str | None, limit: int) -> list[Mandate]:
        """A page of an owner's mandates but drafts and cancelled ones, oldest first."""
        at, last = keys_of(after, (int, str)) if after else (-1, "")
        rows = self._sql.rows(_NON_DRAFT, owner=owner_id, at=at, last=last, most=limit)
        # All of them are walked, each once: kept, they would drive out those that are read again,
        # and leave the collector one long young generation.
        return [self._mandate(r, once=True) for r in rows]

    def ids_of_agent(self, agent_id: str, owner_id: str | None = None) -> list[str]:
        """Ids of an agent's mandates; those of one owner where it is named."""
        rows = self._sql.rows(_IDS_OF_AGENT, agent=agent_id, owner=owner_id or "")
        return [r["public_id"] for r in rows]

    def busy_of_agent(
        self, agent_id: str, owner_id: str | None, *, after: tuple[int, str], limit: int
    ) -> list[ActiveMandate]:
        """An agent's mandates that have rows, the oldest first; a page behind a (time made, id).
        Those of one owner where it is named.
        """
        of = {"agent": agent_id, "owner": owner_id or ""}
        rows = self._sql.rows(_BUSY, **of, made=after[0], last=after[1], most=limit)
        return [ActiveMandate(r["public_id"], int(r["made"]), int(r["newest"])) for r in rows]

    def due_for_refresh(
        self, chain_id: int, limit: int, now: datetime, since: datetime | None = None
    ) -> list[Mandate]:
        """Mandates with a vault: never-read first, then the oldest refresh (spec 2.2), those not
        that were read after `since`; of the settled ones those whose vault is not
        known to be empty, and that no rest holds back.

        A refresh of a time to come was noted by a clock that ran ahead, and counts for nothing.
        Locked rows are somebody else's work already.
        """
        tail = f"{self._lock} SKIP LOCKED" if self._lock and since else ""
        times = {"now": micros(now), "since": micros(since or now)}
        of = {"chain": chain_id, "unpaid": UNPAID_FEE}
        rows = self._sql.rows(_TO_REFRESH + tail, **of, **times, most=limit)
        return [self._mandate(r) for r in rows]


def cursor_after_mandate(mandate: Mandate) -> str:
    """The cursor that continues behind this mandate."""
    return cursor_of(micros(mandate.created_at), mandate.public_id)


def after_offer(mandate: Mandate) -> str:
    """The cursor that continues behind this offer."""
    return cursor_of(
        int(mandate.agent_id is not None), micros(mandate.created_at), mandate.public_id
    )


def _row(mandate: Mandate, version: int) -> dict[str, object]:
    return {
        "public_id": mandate.public_id,
        "owner_id": mandate.owner_id,
        "agent_id": mandate.agent_id,
        "open_board": int(mandate.open_board),
        "status": mandate.status.value,
        "chain_id": mandate.chain_id,
        "vault_lower": mandate.vault_address.lower() if mandate.vault_address else None,
        "accepted_at": maybe_micros(mandate.accepted_at),
        "created_at": micros(mandate.created_at),
        "refreshed_at": maybe_micros(mandate.refreshed_at),
        "proposed_by": mandate.proposed_by_agent_id,
        "version": version,
        "body": BODY.dump(mandate),
    }


def _conflict(reason: str) -> Refused:
    return Refused(refusal("conflict", why=reason))


@lru_cache(PARSED)
def _parsed(body: str) -> Mandate:
    """The mandate behind a stored text: values are frozen, so that the same text may give the same
    value again.
    """
    mandate: Mandate = BODY.load(body)
    return mandate
