"""A service with screens, and a Chromium whose wallet is the test's own."""

from __future__ import annotations

from tests.app.conftest import evm, site

__all__ = ["evm", "site"]
