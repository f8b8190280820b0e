"""Untrusted text: hidden characters made visible, its direction isolated,
its length bounded, and no link in it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from itertools import groupby
from typing import Final

from markupsafe import Markup

from app.replies import Json, Record
from app.words.text import keeps_by_language
from domain.text import NAME_MAX, escape_unfit

LONGEST: Final = 2_000
KEPT: Final = 512  # texts, of which the longest are a clause's
_NAMED: Final = Markup('%s <span class="soft raw" translate="no">%s</span>')
_TOLD: Final = Markup('<bdi class="told">%s</bdi>')
# On one letter; no language writes more. A pile of them is drawn over the lines around it, and
# does not break where the page ends.
MARKS_MOST: Final = 5


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M")


def _unpiled(line: str) -> str:
    """The line with what is too much of accents on one letter written out."""
    if line.isascii():
        return line
    runs = ("".join(run) for _, run in groupby(line, _is_mark))
    return "".join(
        run
        if len(run) <= MARKS_MOST or not _is_mark(run[0])
        else run[:MARKS_MOST] + "".join(f"\\u{{{ord(c):04X}}}" for c in run[MARKS_MOST:])
        for run in runs
    )


@keeps_by_language(KEPT)
def plain(text: str | None, limit: int = LONGEST) -> str:
    """The text without markup: for titles and attributes."""
    clean = "\n".join(_unpiled(escape_unfit(line)) for line in str(text or "").split("\n"))
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"


def agent_of(row: Json) -> Record:
    """The agent of a mandate, or of an approval item: the owner's name of it, and its id, which no
    user can choose; None where it names none.
    """
    return Record(agent_id=row["agent_id"], name=row["agent_name"])


def with_name(agent_id: str, names: Mapping[str, str]) -> Record:
    """An agent by its id; `names` of those that are known."""
    return Record(agent_id=agent_id, name=names.get(agent_id, ""))


def agent_label(agent: Json | None, default: str = "") -> Markup | str:
    """An agent's name with its id beside it: two agents can have one name. `agent`: an agent, or
    the row of a mandate or an approval, which may name none.
    """
    if agent is None or agent["agent_id"] is None:
        return default
    name = agent["name"] if "name" in agent else agent["agent_name"]
    return _NAMED % (quote_untrusted(name or "", NAME_MAX), agent["agent_id"])


@keeps_by_language(KEPT)
def quote_untrusted(text: str | None, limit: int = LONGEST) -> Markup:
    """A user's text, set apart from the sentence that it stands in."""
    return _TOLD % plain(text, limit)
