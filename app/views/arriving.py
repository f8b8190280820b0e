"""The page that a link from elsewhere meets first: it opens itself again, and the session comes
along.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivingView:
    """Nothing: whose page it is, is not known yet."""
