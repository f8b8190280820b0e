"""Help pages: guarantees and their limits, wallets, and the text for agents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from app.words.text import _

TITLES: Final[Mapping[str, str]] = {
    "holds": _("What holds, and what does not"),
    "start": _("How a mandate goes"),
    "wallets": _("Wallets and signatures"),
    "agents": _("What an agent is told"),
    "words": _("Words"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentView:
    """One page of help, among its neighbours."""

    name: str
    title: str
    pages: tuple[tuple[str, str], ...]


def view(name: str) -> DocumentView:
    """A page by its name. Errors: KeyError for one that there is not."""
    return DocumentView(name=name, title=TITLES[name], pages=tuple(TITLES.items()))
