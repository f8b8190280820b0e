"""Shared parts of the commands: settings, running and output."""

from __future__ import annotations

import asyncio
import json
import os
import re
import tomllib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeVar

import click
from pydantic import ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings.exceptions import SettingsError

from domain.refusals import Refused
from server.runtime.schema_upgrade import NotUpgraded
from server.setting_forms import text_of
from server.settings import Settings
from storage.errors import NoBackup, missing_part, trouble_of
from storage.schema.revision import database_name

T = TypeVar("T")
PORT: Final = click.IntRange(0, 65_535)
"""Of TCP; 0 is one that is free."""


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """One thing looked at; `works` is False only where something that is set does not work, `warns`
    is True where something that is not set, or set in a way that is not for callers of others,
    takes something away.
    """

    what: str
    works: bool
    state: str
    effect: str = ""
    warns: bool = False

    @property
    def status(self) -> Literal["ok", "warning", "fault"]:
        """The finding in a word."""
        if not self.works:
            return "fault"
        return "warning" if self.warns else "ok"


def read_settings() -> Settings:
    """The settings; what is wrong ends the command by its name, never by its value."""
    file = "wallet.toml"
    try:
        # What is there and is no file would count as one that is not there.
        if os.path.lexists(file):
            text_of(Path(file))
        return Settings()
    except ValidationError as error:
        wrong = "; ".join(map(_sentence, error.errors(include_url=False)))
        raise click.ClickException(f"settings: {wrong}") from None
    except OSError as error:
        raise click.ClickException(f"settings: {_fault(error)}") from None
    except ValueError as error:
        # A file or a value that is no TOML or JSON: where, and not what stands there.
        where = f"{file}: " if isinstance(error, tomllib.TOMLDecodeError) else ""
        if isinstance(error, SettingsError):
            raise click.ClickException(
                "settings: WALLET_CHAINS is no JSON; set WALLET_CHAINS__<id>__RPC_URL and so on"
            ) from None
        raise click.ClickException(f"settings: {where}{str(error).splitlines()[0][:120]}") from None


def _sentence(error: ErrorDetails) -> str:
    """Describe the fault of one setting in a sentence. A rule of our own may name its input."""
    parts = [str(part) for part in error["loc"] if part != "[key]"]
    name = "WALLET_" + "__".join(parts).upper()
    if len(parts) == 1 and f"{parts[0]}_file" in Settings.model_fields:
        name += ", or what its file holds"
    message, value = error["msg"].removeprefix("Value error, "), str(error.get("input", ""))
    if any(part in message for part in re.findall(r"[^\s,;'\"]{3,}", value)):
        message = "it does not have the form that this setting takes"
    # A rule about several settings names them itself.
    return (f"{name}: " if parts else "") + message


def _fault(error: OSError) -> str:
    """Say in words what the system refused, and of which file."""
    return ": ".join(str(part) for part in (error.filename, error.strerror or error) if part)


class _Unready(click.ClickException):
    """Nothing was done, because a step has to come first."""

    exit_code = 2


def _alone(error: Exception) -> Exception:
    """The one error of a task group, where there is only one."""
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def run(main: Callable[[], Awaitable[T]]) -> T:
    """Run what a command does; a refusal or a fault of the system ends it with its sentence."""

    async def wrapped() -> T:
        try:
            return await main()
        except ExceptionGroup as several:
            raise _alone(several) from None

    try:
        return asyncio.run(wrapped())
    except Refused as refused:
        raise click.ClickException(f"{refused.code}: {refused.refusal.reason}") from None
    except NotUpgraded as error:
        raise _Unready(str(error)) from None
    except NoBackup as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(_fault(error)) from None
    except Exception as error:
        where = database_name(read_settings().database_url)
        if (why := trouble_of(error)) is not None:
            # A commit that was sent and not answered may stand there.
            done = " What was asked may be stored." if getattr(error, "unknown", False) else ""
            raise _Unready(f"The database {where} is not usable: {why}.{done}") from None
        if (missing := missing_part(error)) is None:
            raise
        raise _Unready(
            f"The database {where} does not have the tables of this version, though it is at its "
            f"revision: {missing}. Another build made it: run that one, or begin with an empty one."
        ) from None


def print_line(value: object) -> None:
    """Print a text, or anything else as JSON."""
    click.echo(value if isinstance(value, str) else json.dumps(value, indent=2, default=str))
