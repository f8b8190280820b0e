"""Unknown fields of the venue's answers: counted by kind, each new name logged once."""

from __future__ import annotations

import logging
from collections import Counter
from typing import Final, Literal

from venue.json_readers import Tally

log = logging.getLogger("wallet.venue")
# field: an unknown field; status: an unknown word where the words are listed; malformed: a figure
# that cannot be read; dropped: a row left out; form: an answer of another form, which is none;
# words: a refusal of an action in a sentence that is not known; far: a price far from the last one.
UnknownKind = Literal["field", "status", "malformed", "dropped", "form", "words", "far"]
NAMES_LOGGED: Final = 256


class UnknownFieldCounts:
    """Counts of one process and network.

    The keys are (kind of request, kind of anomaly), both from this service's own lists; names
    chosen by the venue are only logged, up to a limit.
    """

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, UnknownKind]] = Counter()
        # 0 for a kind whose answers were all accepted.
        self.refused: Counter[str] = Counter()
        self._logged: set[tuple[str, str]] = set()

    def refuse(self, kind: str, times: int = 1) -> None:
        """Count a refused answer; `times` 0 registers the kind."""
        self.refused[kind] += times

    def count(self, kind: str, subject: UnknownKind, times: int = 1) -> None:
        """Count an anomaly."""
        self.counts[(kind, subject)] += times

    def note(self, kind: str, tally: Tally) -> None:
        """Count the anomalies of one answer, and log each new name once."""
        counts: tuple[tuple[UnknownKind, Counter[str]], ...] = (
            ("field", tally.unknown),
            ("status", tally.strange),
            ("malformed", tally.malformed),
        )
        for subject, names in counts:
            for name, times in names.items():
                self.count(kind, subject, times)
                self._log_once(kind, subject, name)
        if tally.dropped:
            self.count(kind, "dropped", tally.dropped)
            self._log_once(kind, "dropped", "rows that cannot be read")

    def note_far(self, kind: str, name: str) -> None:
        """Count a price that is far from the last mark."""
        self.count(kind, "far")
        self._log_once(kind, "far", name)

    def _log_once(self, kind: str, subject: UnknownKind, name: str) -> None:
        if (kind, name) in self._logged or len(self._logged) >= NAMES_LOGGED:
            return
        self._logged.add((kind, name))
        level = logging.WARNING if subject in ("malformed", "dropped", "far") else logging.INFO
        log.log(level, "the venue's %s: %s %r", kind, subject, name)
