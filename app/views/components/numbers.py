"""The figures at the top of a page, each with its source; drawn by `macros/numbers.html`."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberView:
    """A figure as it is shown; `aside` stands beside it, `source` under it."""

    label: str
    display: Markup
    source: Markup | str
    unit: bool = False
    aside: str = ""
    tone: str = ""
