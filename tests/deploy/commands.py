"""Whether the files for operators call commands and set settings that there are."""

from __future__ import annotations

import re
from collections.abc import Iterable

import click

from server.cli.main import main
from server.settings import ChainSettings, Settings

SETTING = re.compile(r"\bWALLET_[A-Z0-9_]+\b")
CHAIN = re.compile(r"chains__\d+__(\w+)")


def understood(words: Iterable[str]) -> str:
    """The name of the command that a command line calls, options and all. Errors: click's, for one
    that there is not.
    """
    command: click.Command = main
    rest, names = list(words), list[str]()
    while isinstance(command, click.Group):
        name, found, rest = command.resolve_command(click.Context(command), rest)
        assert name, f"there is no command {rest}"
        assert found
        command, names = found, [*names, name]
    command.make_context(command.name, rest)
    return " ".join(names)


def unknown_settings(text: str, *others: str) -> set[str]:
    """The names of settings in a text that this version does not have."""
    found = {n.removeprefix("WALLET_").lower() for n in SETTING.findall(text)}
    chains = {n for n in found if (m := CHAIN.fullmatch(n)) and m[1] in ChainSettings.model_fields}
    return found - chains - set(Settings.model_fields) - {o.lower() for o in others}
