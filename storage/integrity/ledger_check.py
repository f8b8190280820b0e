"""Ledger check: every hash, pair and checkpoint computed again from the first
row.
"""

from __future__ import annotations

import json
from asyncio import sleep
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Final

from domain.ledger.events.event import Event
from domain.ledger.events.event_kinds import Reporter
from domain.ledger.events.pairing import can_pair, partner, place_of
from domain.ledger.events.payloads import Marked
from domain.ledger.state.journal import counts
from domain.ledger.state.ledger_state import EMPTY, LedgerState, apply
from storage.errors import Unavailable
from storage.feed.row_stream import LongReader, long_reader
from storage.integrity.hash_chain import HashChain, RecordFault
from storage.integrity.paper_check import books_of, check_stored_book, prove_snapshots
from storage.repositories.clock_rollbacks import APART_US, BACK_STEPS_OF
from storage.repositories.event_row import IN_ORDER, event_of, has_its_hash
from storage.repositories.ledger import ALL_IDS, CHECKPOINTS_OF
from storage.repositories.ledger_queries import HEAD
from storage.repositories.state_codec import LEDGER
from storage.repositories.transfers import BOTH_SUMS
from storage.sql import Row
from storage.store import Store

# Rows that are read at once, between two turns of the loop, which a server that verifies beside its
# work needs. So few are still in the processor's own memory when they are looked at.
ROWS_AT_ONCE: Final = 128
ROWS_OF: Final = (
    f"SELECT {', '.join(IN_ORDER)} FROM ledger_events WHERE public_id = :public_id ORDER BY seq"
)


# By public id the number and the hash of a ledger's last row at an earlier time.
Anchors = Mapping[str, tuple[int, str]]


class NoHeads(Exception):
    """A file holds no heads of ledgers; the text says where."""


@dataclass(slots=True)
class VerificationReport:
    """Counts of the rows that a verification read, and its findings."""

    ledgers: int = 0
    rows: int = 0
    checkpoints: int = 0
    balances: int = 0
    paper_books: int = 0
    paper_entries: int = 0
    anchors: int = 0
    findings: list[RecordFault] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """True when nothing was found."""
        return not self.findings

    def as_json(self) -> dict[str, object]:
        """Shape `{ok, ledgers, rows, checkpoints, balances, paper_books, paper_entries, anchors,
        findings[] {of, seq, what}}`.
        """
        return {"ok": self.ok} | asdict(self)


class LedgerWalk:
    """One ledger read from its first row on; `findings` grows as it goes."""

    def __init__(self, public_id: str):
        self.public_id = public_id
        self.chain, self.created_at = HashChain("row"), 0
        self.state: LedgerState | None = EMPTY
        self.findings: list[RecordFault] = []
        self.steps_back: dict[int, int] = {}
        self._open: dict[str, dict[int, Event]] = {}
        self._house: list[Event] = []

    def find(self, subject: str, seq: int | None = None) -> None:
        """Note a finding."""
        self.findings.append(RecordFault(self.public_id, seq, subject))

    def step(self, row: Row) -> None:
        """Check one row against those before it."""
        seq = int(row["seq"])
        for about, fault in self.chain.step(seq, row, has_its_hash=has_its_hash(row)):
            self.find(fault, about)
        # A clock may be set back, and the order of rows is their number; but where it was is noted,
        # for what was stored before a time is found by it.
        try:
            created_at = int(row["created_at"])
        except (ValueError, TypeError) as error:
            self.find(f"the row cannot be read: {error}", seq)
            self.state = None
            return
        if created_at < self.created_at - APART_US:
            self.steps_back[seq] = self.created_at
        self.created_at = created_at
        self._fold(row)

    def _fold(self, row: Row) -> None:
        try:
            event = event_of(row)
        except Unavailable as error:
            self.find(f"the row cannot be read: {error.__cause__}", int(row["seq"]))
            self.state = None
            return
        partner = None if event.tx_hash is None else self._partner(event, event.tx_hash)
        if event.pairs_with != (partner.seq if partner else None):
            self.find("the row does not name the partner that it must", event.seq)
        if self.state is not None:
            self._observe(event, self.state)
            self.state = apply(self.state, event, partner, self._past)
        if counts(event):
            self._house.append(event)

    def _observe(self, event: Event, before: LedgerState) -> None:
        """The cash that a log was observed with is that of the rows before its place, and the sum
        of a mark is that of its probes.
        """
        observed, body = event.content.observed, event.content.body
        if observed is None or event.reported_by is not Reporter.CHAIN:
            return
        if isinstance(body, Marked) and observed.is_complete and observed.positions:
            if body.positions.micros != sum(p.value.micros for p in observed.positions if p.value):
                self.find("the mark is not the sum of its probes", event.seq)
        elif event.log_index is not None or event.content.restates is not None:
            cash = max(0, before.journal.cash_after(place_of(event), event))
            if cash != observed.cash.micros:
                self.find("the observed cash is not that of the rows before it", event.seq)

    def _past(self) -> tuple[Event, ...]:
        return tuple(self._house)

    def _partner(self, event: Event, tx_hash: str) -> Event | None:
        """The pairing rule once more, from memory: the earliest row of the other side that has no
        partner.
        """
        if not can_pair(event):
            return None
        waiting = self._open.setdefault(tx_hash, {})
        match = partner(event, waiting.values())
        if match is None:
            waiting[event.seq] = event
        else:
            del waiting[match.seq]
        return match

    def compare_checkpoint(self, text: str) -> None:
        """Compare with what is stored at the row that was read last; what another version folded
        before or beside this one is passed over, as it is by every read.
        """
        if self.state is None or LEDGER.is_of_another_version(text, self.chain.hash):
            return
        if LEDGER.state(text, self.chain.hash) != self.state:
            self.find("the checkpoint is not the fold of the rows up to it", self.chain.number)

    def ends(self, seq: int, last_hash: str, created_at: int) -> None:
        """Compare with a stored head."""
        last = self.chain.number
        if (seq, last_hash, created_at) != (last, self.chain.hash, self.created_at):
            self.find(f"the head names row {seq}, the last row is {last}", seq)


def anchors(lines: Iterable[str]) -> Anchors:
    """The heads in a file that `write_heads` wrote. Errors: `NoHeads`, with the line."""
    heads = {}
    for number, line in enumerate(lines, start=1):
        try:
            head = json.loads(line)
            heads[str(head["public_id"])] = (int(head["seq"]), str(head["row_hash"]))
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            raise NoHeads(f"line {number} is no head of a ledger") from error
    return heads


async def verify(source: Store | str, against: Anchors | None = None) -> VerificationReport:
    """Verify every ledger, every balance and every paper book of a store's database, or of the one
    behind a URL; on a connection of its own, one snapshot a ledger. With the heads of an earlier
    time also that each ledger still holds them: that nobody wrote it anew since.
    """
    heads = dict(against or {})
    url, report = source if isinstance(source, str) else source.url, VerificationReport()
    async with long_reader(url) as reader:
        async with reader.snapshot():
            ids = [str(row["public_id"]) async for row in reader.rows(ALL_IDS)]
        for public_id in ids:
            async with reader.snapshot():
                await _ledger(reader, public_id, report, heads.pop(public_id, None))
        for public_id, (seq, _) in heads.items():
            report.findings.append(RecordFault(public_id, seq, "the anchored ledger is not here"))
        report.anchors = len(against or {})
        async with reader.snapshot():
            await _balances(reader.rows(BOTH_SUMS), report)
        async with reader.snapshot():
            await _paper(reader, report)
    return report


def verify_export(lines: Iterable[str]) -> VerificationReport:
    """Verify an export, without any database.

    Shapes: each line is a row with its `row_hash`, or a ledger's `head` after its last row.
    """
    report = VerificationReport()
    walk: LedgerWalk | None = None
    for number, line in enumerate(lines, start=1):
        try:
            walk = _line(json.loads(line), walk, report)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            report.findings.append(
                RecordFault(
                    walk.public_id if walk else "", None, f"line {number} cannot be read: {error!r}"
                )
            )
    _no_head(report, walk)
    return report


def _line(row: Row, walk: LedgerWalk | None, report: VerificationReport) -> LedgerWalk | None:
    head = row.get("head")
    public_id = str((head or row)["public_id"])
    if walk is None or walk.public_id != public_id:
        _no_head(report, walk)
        walk = LedgerWalk(public_id)
        report.ledgers += 1
    if head is None:
        report.rows += 1
        walk.step(row)
        return walk
    walk.ends(head["seq"], head["row_hash"], head["created_at"])
    report.findings += walk.findings
    return None


def _no_head(report: VerificationReport, walk: LedgerWalk | None) -> None:
    if walk is not None:
        walk.find("the ledger ends without its head")
        report.findings += walk.findings


async def _ledger(
    reader: LongReader,
    public_id: str,
    report: VerificationReport,
    anchor: tuple[int, str] | None,
) -> None:
    walk = LedgerWalk(public_id)
    checkpoints = reader.rows(CHECKPOINTS_OF, public_id=public_id)
    stored = {int(row["seq"]): str(row["state"]) async for row in checkpoints}
    report.ledgers += 1
    report.checkpoints += len(stored)
    async for page in reader.pages(ROWS_OF, ROWS_AT_ONCE, public_id=public_id):
        for row in page:
            walk.step(row)
            if anchor == (walk.chain.number, walk.chain.hash):
                anchor = None
            if (seq := walk.chain.number) in stored:
                walk.compare_checkpoint(stored.pop(seq))
        await sleep(0)
        report.rows += len(page)
    if anchor is not None:
        walk.find("no row has the anchored number and hash", anchor[0])
    for seq in stored:
        walk.find("a checkpoint stands where no row is", seq)
    noted = {
        int(row["seq"]): int(row["from_at"])
        async for row in reader.rows(BACK_STEPS_OF, public_id=public_id)
    }
    for seq in sorted(
        s for s in noted.keys() | walk.steps_back if noted.get(s) != walk.steps_back.get(s)
    ):
        walk.find("its clock was set back, and that is not what is noted", seq)
    head = [row async for row in reader.rows(HEAD, public_id=public_id)]
    if not head:
        walk.find("the ledger has no head")
    else:
        walk.ends(int(head[0]["seq"]), head[0]["row_hash"], int(head[0]["created_at"]))
    report.findings += walk.findings


async def _paper(reader: LongReader, report: VerificationReport) -> None:
    """Replay every paper book against the snapshots that filled it."""
    for book in await books_of(reader):
        entries, faults = await check_stored_book(reader, book)
        report.paper_books += 1
        report.paper_entries += entries
        report.findings += faults
    report.findings += await prove_snapshots(reader)


async def _balances(places: AsyncIterator[Row], report: VerificationReport) -> None:
    """Compare the kept sum of every place with its deltas."""
    async for at in places:
        report.balances += at["deltas"] > 0
        stored, summed = int(at["kept"]), int(at["summed"])
        if stored != summed:
            where = f"{at['state']} {at['asset']} on chain {at['chain_id']}"
            text = f"{where} is {stored}, its deltas sum up to {summed}"
            report.findings.append(RecordFault(at["agent_id"], None, text))
