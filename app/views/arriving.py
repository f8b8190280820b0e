"""The page that a link from elsewhere opens first: it loads itself again, so that the session
cookie is sent.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivingView:
    """Empty view: the page's owner is not known yet."""
