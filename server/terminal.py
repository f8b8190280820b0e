"""What every command shares: its settings, how it runs, how it speaks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import click

from domain.refusals import Refused
from server.settings import Settings
from server.start import NotUpgraded

T = TypeVar("T")


def read_settings() -> Settings:
    """The settings, or the end of the command with what is wrong in them."""
    try:
        return Settings()
    except ValueError as error:
        raise click.ClickException(f"settings: {error}") from None


class _Unready(click.ClickException):
    """Nothing was done, because something has to be done first."""

    exit_code = 2


def run(main: Callable[[], Awaitable[T]]) -> T:
    """Run what a command does; a refusal or a fault of the system ends it with its sentence."""

    async def wrapped() -> T:
        return await main()

    try:
        return asyncio.run(wrapped())
    except Refused as refused:
        raise click.ClickException(f"{refused.code}: {refused.refusal.reason}") from None
    except NotUpgraded as error:
        raise _Unready(str(error)) from None
    except OSError as error:
        raise click.ClickException(str(error)) from None


def say(value: Any) -> None:
    """Print a text, or anything else as JSON."""
    click.echo(value if isinstance(value, str) else json.dumps(value, indent=2, default=str))
