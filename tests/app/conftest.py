"""A site on a real service: real store, real chain, nobody signed in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from jinja2.runtime import Macro
from markupsafe import Markup

from app.fragments import FragmentCache
from tests.app.site import Site, a_site
from tests.world import Evm, a_world


@pytest.fixture
async def site(sqlite_url: str, evm: Evm) -> AsyncIterator[Site]:
    async with a_world(sqlite_url, evm) as world, a_site(world) as found:
        yield found


@pytest.fixture
async def paying(sqlite_url: str, evm: Evm) -> AsyncIterator[Site]:
    """A service whose chain has purses."""
    async with a_world(sqlite_url, evm, purses=True) as world, a_site(world) as found:
        yield found


def markup_in(shown: Any) -> list[str]:
    """The markup inside a value."""
    if isinstance(shown, Markup):
        return [shown]
    parts = shown.values() if isinstance(shown, dict) else shown if isinstance(shown, tuple) else ()
    return [one for part in parts for one in markup_in(part)]


@pytest.fixture(autouse=True)
def no_markup_is_kept_by(monkeypatch: pytest.MonkeyPatch) -> None:
    """Markup equals the text that it is made of: a kept part of it would be shown where somebody wrote that text."""
    kept = FragmentCache.__call__

    def looked_at(self: FragmentCache, macro: Macro, *shown: Any) -> str:
        assert markup_in(shown) == [], macro.name
        return kept(self, macro, *shown)

    monkeypatch.setattr(FragmentCache, "__call__", looked_at)
