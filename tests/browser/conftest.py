"""A service with screens, and a Chromium whose wallet is the test's own."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from app import screens
from http_shim.application import build
from http_shim.http_server import listen
from tests.browser import window
from tests.browser.wallet import Wallet
from tests.world import Evm, Mandated, World, a_world
from tools.catalogue import OPERATIONS
from tools.model.web_push import WebPush, new_private_key
from tools.model.webhook_signing import WebhookSigning

FIGURES = window.ROOT / "build" / "screens" / "figures.json"
_figures: dict[str, Any] = {}


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """One loop for all, so that one browser serves all."""
    return "asyncio"


@pytest.fixture(scope="session")
async def chromium(anyio_backend: str) -> AsyncIterator[Any]:
    window.npm.install()
    async with window.running() as browser:
        yield browser


@dataclass
class Stage:
    """A service that can be stopped and started again at the same address."""

    world: World
    browser: Any
    port: int = 0
    runner: web.AppRunner | None = None
    base: str = field(default="")

    async def start(self) -> None:
        pages = screens.routes(self.world.deps, OPERATIONS)
        app = build(self.world.deps, OPERATIONS, screens=pages)
        self.runner = await listen(app, "127.0.0.1", self.port)
        self.port = self.runner.addresses[0][1]

    async def stop(self) -> None:
        if self.runner is not None:
            await self.runner.cleanup()
        self.runner = None

    def wallet(self, m: Mandated) -> Wallet:
        return Wallet(m.owner_wallet, self.world.evm.url)

    def window(self, wallet: Wallet | None = None, **options: Any) -> Any:
        return window.a_window(self.browser, self.base, wallet, **options)


@pytest.fixture
async def stage(sqlite_url: str, evm: Evm, chromium: Any) -> AsyncIterator[Stage]:
    async with a_world(sqlite_url, evm) as world, a_stage(world, chromium) as found:
        yield found


@asynccontextmanager
async def a_stage(world: World, chromium: Any) -> AsyncIterator[Stage]:
    """Serve a world, which knows the address at which it is reached."""
    found = Stage(world, chromium)
    await found.start()
    found.base = f"http://127.0.0.1:{found.port}"
    config = replace(world.deps.config, base_url=found.base)
    object.__setattr__(world.deps, "config", config)
    object.__setattr__(world.deps, "webhooks", WebhookSigning(b"k" * 32))
    object.__setattr__(world.deps, "push", WebPush(new_private_key(), None))
    object.__setattr__(world.deps, "email", True)
    await found.stop()
    await found.start()
    try:
        yield found
    finally:
        await found.stop()


@pytest.fixture
def figures() -> dict[str, Any]:
    """What is measured on the way; printed at the end, and kept beside the pictures."""
    return _figures


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if not _figures:
        return
    Path(FIGURES).parent.mkdir(parents=True, exist_ok=True)
    FIGURES.write_text(json.dumps(_figures, indent=1, sort_keys=True) + "\n")
    terminalreporter.section("the screens, measured")
    for name, value in sorted(_figures.items()):
        terminalreporter.write_line(f"{name:<44} {value}")
