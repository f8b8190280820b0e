"""The append-only ledger: rows, hash chain, checkpoints of the fold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Final

from domain.ledger.events.event import Event, NewEvent, Reporter
from domain.ledger.events.pairing import can_pair, other_side, partner
from domain.ledger.state.ledger_state import EMPTY, LedgerState, apply
from storage.repositories import ledger_queries as queries
from storage.repositories.clock_rollbacks import APART_US, note_clock_rollback, safe_start_before
from storage.repositories.event_row import event_of, row_values
from storage.repositories.house_events import HouseEventRepository
from storage.repositories.state_cache import StateCache
from storage.repositories.state_codec import LEDGER
from storage.sql import Row, Sql, canonical, exists, first, micros, moment

# The first day of the epoch is a Thursday; and what the index `ledger_late` holds, to the letter.
WEEK, MONDAY = 604_800_000_000, 259_200_000_000
LATE: Final = f"(occurred_at + {MONDAY}) / {WEEK} < (created_at + {MONDAY}) / {WEEK}"


# Whole ledgers, for verification and export.
ALL_IDS: Final = (
    "SELECT public_id FROM ledger_heads UNION SELECT public_id FROM ledger_events "
    "UNION SELECT public_id FROM ledger_checkpoints ORDER BY public_id"
)


ROWS_OF: Final = "SELECT * FROM ledger_events WHERE public_id = :public_id ORDER BY seq"


CHECKPOINTS_OF: Final = "SELECT seq, state FROM ledger_checkpoints WHERE public_id = :public_id"
_HAS_LOG: Final = (
    "ledger_events WHERE public_id = :public_id AND tx_hash = :tx_hash AND log_index = :log_index "
    "AND reported_by = 'chain'"
)
_BEHIND: Final = (
    "SELECT * FROM ledger_events WHERE public_id = :public_id AND seq > :seq ORDER BY seq "
    "LIMIT :most"
)
_BELOW: Final = (
    "SELECT * FROM ledger_events WHERE public_id = :public_id AND seq < :before "
    "ORDER BY seq DESC LIMIT :most"
)
_HAPPENED: Final = (
    "SELECT * FROM ledger_events WHERE public_id = :public_id AND occurred_at >= :since "
    "AND occurred_at < :until ORDER BY occurred_at, seq LIMIT :most"
)
# Those stored in the rest of the week of a moment, and those that tell in a later week of one
# before: the only rows of `ledger_late`, however many others there are. The plus signs keep SQLite
# from walking the others by their time or number.
_LATE_ROWS: Final = (
    "SELECT * FROM ledger_events WHERE public_id = :public_id AND created_at >= :low "
    "AND created_at < :monday AND occurred_at < :before AND +seq > :seq "
    "UNION ALL SELECT * FROM ledger_events WHERE public_id = :public_id "
    f"AND {LATE} AND occurred_at < :before AND +created_at >= :monday AND +seq > :seq "
    "ORDER BY seq"
)


class LedgerRepository(HouseEventRepository):
    """Rows are only ever added; triggers refuse the rest."""

    def __init__(self, sql: Sql, cache: StateCache):
        super().__init__(sql)
        self._cache = cache
        self._lock = sql.locks
        self._heads: dict[str, Row] = {}  # which nobody else moves while this transaction runs
        self._held: dict[tuple[str, str], list[Event]] = {}

    def head(self, public_id: str) -> tuple[int, str]:
        """(seq, row_hash) of the newest row; (0, "") of an empty ledger."""
        row = self.head_row(public_id)
        return (int(row["seq"]), row["row_hash"]) if row else (0, "")

    def head_row(self, public_id: str) -> Row | None:
        """The stored head: seq, row_hash, created_at."""
        head = self._heads.get(public_id)
        if head is not None:
            return head
        row = first(self._sql, queries.HEAD, public_id=public_id)
        # On SQLite nobody else writes in this transaction: the head that was read stays the head.
        if row is not None and not self._lock:
            self._heads[public_id] = row
        return row

    def _locked_head(self, public_id: str) -> tuple[int, str, int]:
        query = queries.HEAD + self._lock
        row = self._heads.get(public_id) or first(self._sql, query, public_id=public_id)
        if row is None:
            self._sql.run(queries.BEGIN_HEAD, public_id=public_id)
            row = first(self._sql, query, public_id=public_id)
        if row is None:
            raise LookupError(public_id)
        self._heads[public_id] = row
        return int(row["seq"]), row["row_hash"], int(row["created_at"])

    def hold(self, transactions: Mapping[str, Iterable[str]]) -> None:
        """Lock ledgers for this transaction, and read at once the rows that name some of the
        chain's, by public id; until its end no other transaction adds any.
        """
        heads = self._sql.rows(
            queries.HEADS[self._sql.dialect], ids=self._array(sorted(transactions))
        )
        by_id = {str(head["public_id"]): head for head in heads}
        self._heads |= by_id
        name = {(of, tx.lower()): None for of in by_id for tx in transactions[of]}
        self._held |= {key: [] for key in name}
        rows = self._sql.rows(
            queries.BY_TRANSACTIONS[self._sql.dialect],
            ids=self._array([of for of, _ in name]),
            txs=self._array([tx for _, tx in name]),
        )
        for row in rows:
            self._held[row["public_id"], row["tx_hash"]].append(event_of(row))

    def _array(self, values: Sequence[str]) -> Sequence[str] | str:
        return values if self._sql.dialect == "postgresql" else canonical(values)

    def append(
        self, public_id: str, new: NewEvent, *, event_id: str, now: datetime
    ) -> Event | None:
        """Add a row and return it; None where a chain row of the same log is there already (spec
        2.4 rule 3).
        """
        seq, prev_hash, last_at = self._locked_head(public_id)
        tx_hash = new.tx_hash.lower() if new.tx_hash else None
        by_chain = new.reported_by is Reporter.CHAIN
        if by_chain and new.log_index is not None and self._has_log(public_id, tx_hash, new):
            return None
        state = self._state_at_head(public_id, seq, prev_hash)
        # The order of rows is their number; a clock that once ran ahead stamps no later row.
        created = micros(now)
        if created < last_at - APART_US:
            note_clock_rollback(self._sql, public_id, seq + 1, last_at)
        partner = self._partner(public_id, new, tx_hash) if tx_hash else None
        event = Event(
            event_id=event_id,
            seq=seq + 1,
            kind=new.kind,
            reported_by=new.reported_by,
            created_at=moment(created),
            occurred_at=new.occurred_at if by_chain else moment(created),
            amount_usdc=new.amount_usdc,
            tx_hash=tx_hash,
            chain_id=new.chain_id,
            log_index=new.log_index,
            block_number=new.block_number,
            pairs_with=partner.seq if partner else None,
            payload=new.payload,
            parsed=new.content,
        )
        row = row_values(public_id, event, prev_hash)
        self._sql.run(queries.INSERT, **row)
        head = {"seq": event.seq, "row_hash": row["row_hash"], "created_at": created}
        self._sql.run(queries.MOVE_HEAD, public_id=public_id, **head)
        self._heads[public_id] = head
        if (public_id, tx_hash) in self._held:
            self._held[public_id, tx_hash or ""].append(self._cache.keep_event(row, event))
        folded = apply(state, event, partner, partial(self.house_rows, public_id, event.seq))
        self._cache.put(public_id, row["row_hash"], folded)
        if last_at and (last_at + MONDAY) // WEEK != (created + MONDAY) // WEEK:
            self._checkpoint(public_id, seq, last_at, state, prev_hash)
        if event.seq % queries.CHECKPOINT_EVERY == 0:
            self._checkpoint(public_id, event.seq, created, folded, row["row_hash"])
        return event

    def _has_log(self, public_id: str, tx_hash: str | None, new: NewEvent) -> bool:
        preloaded = self._held.get((public_id, tx_hash or ""))
        if preloaded is not None:
            by_chain = [e.log_index for e in preloaded if e.reported_by is Reporter.CHAIN]
            return new.log_index in by_chain
        log = {"tx_hash": tx_hash, "log_index": new.log_index}
        return exists(self._sql, _HAS_LOG, public_id=public_id, **log)

    def _partner(self, public_id: str, new: NewEvent, tx_hash: str) -> Event | None:
        """The earliest row that tells of the same action from the other side and has no partner
        yet.
        """
        if not can_pair(new):
            return None
        preloaded = self._held.get((public_id, tx_hash))
        if preloaded is not None:
            return partner(new, preloaded)
        other = other_side(new)
        rows = self._sql.rows(
            queries.PARTNERS[other],
            public_id=public_id,
            tx_hash=tx_hash,
            other=other.value,
            most=1 if other is Reporter.AGENT else queries.PAGE,
        )
        return partner(new, map(event_of, rows))

    def _checkpoint(
        self, public_id: str, seq: int, created: int, state: LedgerState, row_hash: str
    ) -> None:
        row = {"public_id": public_id, "seq": seq, "created_at": created}
        self._sql.run(queries.CHECK, **row, state=LEDGER.text(state, row_hash))

    def state(self, public_id: str) -> LedgerState:
        """The fold at the newest row: the last checkpoint and the tail after it."""
        seq, row_hash = self.head(public_id)
        return self._state_at_head(public_id, seq, row_hash)

    def _state_at_head(self, public_id: str, seq: int, row_hash: str) -> LedgerState:
        if seq == 0:
            return EMPTY
        cached = self._cache.get(public_id, row_hash)
        if cached is None:
            cached = self._caught_up(public_id, seq) or self._folded(public_id, seq)
            self._cache.put(public_id, row_hash, cached)
        return cached

    def _caught_up(self, public_id: str, last: int) -> LedgerState | None:
        """The fold on from the newest state that is kept, or from the newest checkpoint where that
        spares many rows; None where the ledger does not go on from there: what kept it may have
        been rolled back.
        """
        row_hash, state = self._cache.newest(public_id) or ("", EMPTY)
        above = queries.rows_above(public_id, state.seq)
        nearest = first(self._sql, queries.NEAREST, **above)
        if nearest is not None:
            checkpoint = LEDGER.state(nearest["state"], nearest["row_hash"])
            if checkpoint is None:  # it is no shortcut; `db verify` tells of it
                return None
            row_hash, state = nearest["row_hash"], checkpoint
        rows = self._sql.rows(queries.NEWS, **above)
        if not rows:
            return state if nearest is not None and state.seq == last else None
        if len(rows) != last - state.seq or rows[0]["prev_hash"] != row_hash:
            return None
        has_pairs = any(row["pairs_with"] is not None for row in rows)
        paired = self._sql.rows(queries.PAIRED[self._sql.dialect], **above) if has_pairs else ()
        partners = {int(row["seq"]): event_of(row) for row in paired}
        return self._after(public_id, state, [event_of(r) for r in rows], partners=partners)

    def state_before(self, public_id: str, moment_: datetime) -> LedgerState:
        """The fold of the rows that happened before a moment, exclusive, in their order, whenever
        they were read.

        A chain row happened at its block's time, which may lie a little ahead of the clock that
        stored it, and any time before it. Every other row happened when its clock said, which may
        have run ahead of those after it.
        """
        seq, low = safe_start_before(self._sql, public_id, micros(moment_) - 2 * APART_US)
        state = self._folded(public_id, seq) if seq else EMPTY
        times = {"low": low, "monday": -(-(micros(moment_) + MONDAY) // WEEK) * WEEK - MONDAY}
        values = {"public_id": public_id, "before": micros(moment_), "seq": state.seq}
        late = self._sql.rows(_LATE_ROWS, **values, **times)
        return self._after(public_id, state, [event_of(r) for r in late], micros(moment_))

    def _folded(self, public_id: str, last: int) -> LedgerState:
        """Fold up to a row, inclusive, from the newest checkpoint at or before it."""
        return self._fold_on(public_id, self._checkpointed(public_id, last) or EMPTY, last)

    def _checkpointed(self, public_id: str, last: int) -> LedgerState | None:
        """The newest checkpoint at or before a row. One that is none is no shortcut; `db verify`
        tells of it.
        """
        row = first(self._sql, queries.CHECKPOINT, public_id=public_id, last=last)
        return LEDGER.state(row["state"], row["row_hash"]) if row else None

    def _fold_on(self, public_id: str, state: LedgerState, last: int) -> LedgerState:
        while True:
            rows = self._sql.rows(queries.TAIL, public_id=public_id, after=state.seq, last=last)
            state = self._after(public_id, state, [event_of(r) for r in rows])
            if len(rows) < queries.PAGE:
                return state

    def _after(
        self,
        public_id: str,
        state: LedgerState,
        events: Sequence[Event],
        before: int = 2**62,
        partners: Mapping[int, Event] | None = None,
    ) -> LedgerState:
        if partners is None:
            partners = self._by_seq(public_id, [e.pairs_with for e in events if e.pairs_with])
        for folded in self._folds(public_id, state, events, before, partners):
            state = folded
        return state

    def _folds(
        self,
        public_id: str,
        state: LedgerState,
        events: Sequence[Event],
        before: int,
        partners: Mapping[int, Event],
    ) -> Iterator[LedgerState]:
        for event in events:
            past = partial(self.house_rows, public_id, event.seq, before)
            partner = partners.get(event.pairs_with) if event.pairs_with else None
            state = apply(state, event, partner, past)
            yield state

    def states_after(
        self, public_id: str, state: LedgerState, events: Sequence[Event], until: datetime
    ) -> Iterator[LedgerState]:
        """The fold after each of some more rows; no other is read that happened at `until` or
        later.
        """
        partners = self._by_seq(public_id, [e.pairs_with for e in events if e.pairs_with])
        return self._folds(public_id, state, events, micros(until), partners)

    def _by_seq(self, public_id: str, seqs: Sequence[int]) -> dict[int, Event]:
        events: dict[int, Event] = {}
        for seq in seqs:
            row = first(self._sql, queries.BY_SEQ, public_id=public_id, seq=seq)
            if row is not None:
                events[seq] = event_of(row)
        return events

    def newest(self, public_id: str, limit: int = 50) -> tuple[Event, ...]:
        """The newest rows, newest first; the same object again while nothing is added."""
        head = self.head_row(public_id)
        if head is None:
            return ()
        cached = self._cache.page(public_id, head["row_hash"], limit)
        if cached is None:
            cached = self._grown(public_id, limit)
            self._cache.keep_page(public_id, head["row_hash"], cached, limit)
        return cached

    def _grown(self, public_id: str, limit: int) -> tuple[Event, ...]:
        """The newest page: the one that is kept and the rows above it, else all of its rows."""
        row_hash, below = self._cache.newest_page(public_id, limit)
        after = below[0].seq if below else 0
        rows = self._sql.rows(queries.NEWEST, public_id=public_id, after=after, most=limit)
        if below and len(rows) < limit and (not rows or rows[-1]["prev_hash"] != row_hash):
            below, rows = (
                (),
                self._sql.rows(queries.NEWEST, public_id=public_id, after=0, most=limit),
            )
        return (*map(self._cache.event, rows), *below)[:limit]

    def page(self, public_id: str, *, before_seq: int | None, limit: int) -> list[Event]:
        """Rows below a seq (exclusive), newest first."""
        before = before_seq if before_seq is not None else 2**62
        rows = self._sql.rows(_BELOW, public_id=public_id, before=before, most=limit)
        return [self._cache.event(r) for r in rows]

    def before(
        self, public_id: str, at: int, seq: int, limit: int, *, happened: bool = False
    ) -> list[Event]:
        """Rows created before a time in micros (exclusive), and at it those below `seq`; newest
        first. `happened`: those that happened before it, whenever they were read.
        """
        time = "occurred_at" if happened else "created_at"
        text = (
            "SELECT * FROM ledger_events WHERE public_id = :public_id "
            f"AND ({time}, seq) < (:at, :seq) ORDER BY {time} DESC, seq DESC LIMIT :most"
        )
        rows = self._sql.rows(text, public_id=public_id, at=at, seq=seq, most=limit)
        return [self._cache.event(r) for r in rows]

    def happened(self, public_id: str, since: datetime, until: datetime, limit: int) -> list[Event]:
        """Rows that happened from a moment, inclusive, until another, exclusive, whenever they were
        read; the oldest first.
        """
        period = {"since": micros(since), "until": micros(until), "most": limit}
        rows = self._sql.rows(_HAPPENED, public_id=public_id, **period)
        return [self._cache.event(r) for r in rows]

    def behind(self, public_id: str, seq: int, limit: int) -> list[Event]:
        """Rows above a seq (exclusive), oldest first."""
        return [event for event, _ in self.hashed_behind(public_id, seq, limit)]

    def hashed_behind(self, public_id: str, seq: int, limit: int) -> list[tuple[Event, str]]:
        """Rows above a seq (exclusive) with their hashes, oldest first."""
        rows = self._sql.rows(_BEHIND, public_id=public_id, seq=seq, most=limit)
        return [(self._cache.event(r), r["row_hash"]) for r in rows]

    def hash_of(self, public_id: str, seq: int) -> str | None:
        """The hash of one row; "" of the beginning, None where there is no such row."""
        row = first(self._sql, queries.BY_SEQ, public_id=public_id, seq=seq)
        return row["row_hash"] if row else "" if seq == 0 else None

    def named(self, public_id: str, event_ids: Sequence[str]) -> tuple[Event, ...]:
        """Rows by their ids, in the order of the ids; one that is not there is left out."""
        rows = (
            first(self._sql, queries.BY_ID, public_id=public_id, event_id=event_id)
            for event_id in event_ids
        )
        return tuple(self._cache.event(row) for row in rows if row is not None)

    def by_tx(self, public_id: str, tx_hash: str) -> list[Event]:
        """Rows that name a transaction, oldest first."""
        preloaded = self._held.get((public_id, tx_hash.lower()))
        if preloaded is not None:
            return preloaded.copy()
        rows = self._sql.rows(queries.BY_TX, public_id=public_id, tx_hash=tx_hash.lower())
        return [event_of(r) for r in sorted(rows, key=lambda row: int(row["seq"]))]
