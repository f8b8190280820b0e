"""Notice settings: the choices of owners, and the count of links to e-mail addresses."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from domain.mandates.notice_choices import NoticeSettings
from storage.codec import Table
from storage.sql import Repository, columns, first, micros

_SETTINGS: Final = Table("notice_settings", NoticeSettings, key="owner_id", more=("owner_id",))
_ASK: Final = (
    "INSERT INTO email_links "
    + columns(("owner_id", "address_hash", "asked_at", "is_funded"))
    + " ON CONFLICT DO NOTHING"
)
_LINKS: Final = (
    "SELECT SUM(CASE WHEN owner_id = :owner THEN 1 ELSE 0 END) AS of_owner, "
    "SUM(CASE WHEN address_hash = :address THEN 1 ELSE 0 END) AS of_address, "
    "SUM(CASE WHEN is_funded = 0 THEN 1 ELSE 0 END) AS of_unfunded "
    "FROM email_links WHERE asked_at > :since"
)


_LINKS_LOCK: Final = int.from_bytes(hashlib.sha256(b"email links").digest()[:7])


@dataclass(frozen=True, slots=True)
class LinksAsked:
    """Links asked for since a time: by one owner, to one address, and by all owners of whom no
    vault was ever funded.
    """

    of_owner: int
    of_address: int
    of_unfunded: int


class NoticeSettingsRepository(Repository):
    """One owner's choices, and the count of links."""

    def of_owner(self, owner_id: str) -> NoticeSettings:
        """An owner's choices; before the first, and of a kind that came after them, the usual."""
        chosen = _SETTINGS.first(self._sql, "owner_id = :id", id=owner_id)
        return NoticeSettings() if chosen is None else chosen.with_new_kinds()

    def put(self, owner_id: str, settings: NoticeSettings) -> None:
        """Replace them."""
        self._sql.run(_SETTINGS.upsert, **_SETTINGS.row(settings, owner_id=owner_id))

    def links_asked(self, owner_id: str, address: str, since: datetime) -> LinksAsked:
        """The links asked for since a time; what is older is forgotten. Who counts next waits."""
        at = micros(since)
        if self._sql.dialect == "postgresql":
            self._sql.rows("SELECT pg_advisory_xact_lock(:n)", n=_LINKS_LOCK)
        self._sql.run("DELETE FROM email_links WHERE asked_at <= :at", at=at)
        values = {"owner": owner_id, "address": _hashed(address), "since": at}
        row = first(self._sql, _LINKS, **values)
        names = ("of_owner", "of_address", "of_unfunded")
        return LinksAsked(*(int(row[n] or 0) if row else 0 for n in names))

    def note_link(self, owner_id: str, address: str, *, funded: bool, now: datetime) -> None:
        """Count one more."""
        values = {"owner_id": owner_id, "address_hash": _hashed(address)}
        self._sql.run(_ASK, **values, asked_at=micros(now), is_funded=int(funded))


def _hashed(address: str) -> str:
    """A count needs no address: of one that was never verified none is kept."""
    return hashlib.sha256(address.lower().encode()).hexdigest()
