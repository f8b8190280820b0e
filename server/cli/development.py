"""Commands of the development tools, found by name: nothing that serves imports these tools, and
an installation without the extra has none of what they stand on.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Final

import click

MODULE: Final = "devtools.commands"
EXTRA: Final = "demo"
LIBRARY: Final = "eth"  # py-evm's: no other part of an installation brings it
COMMANDS: Final[Mapping[str, str]] = {
    "conform": "Drive an agent's COMMAND through lost answers, duplicates, pauses and limits, and "
    "print a pass matrix.",
    "demo": "Run the end-to-end demo on an embedded EVM; exit 0 only if every check passed.",
    "devnet": "Run the embedded EVM with JSON-RPC, a test USDC, a factory and a market.",
}


class CommandGroup(click.Group):
    """Lists the development tools' commands beside its own, and loads the one that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command's name, in the order of the alphabet."""
        return sorted({*super().list_commands(ctx), *COMMANDS})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command; of a development tool no more than its line in the list."""
        line = COMMANDS.get(cmd_name)
        return (
            super().get_command(ctx, cmd_name)
            if line is None
            else click.Command(cmd_name, help=line)
        )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is called, whole. Errors: ClickException where the extra is missing."""
        name, command, rest = super().resolve_command(ctx, args)
        if name is None or name not in COMMANDS:
            return name, command, rest
        return name, load_command(name), rest


def load_command(name: str) -> click.Command:
    """A development tool's command. Errors: ClickException where the extra is missing."""
    if find_spec(LIBRARY) is None:
        raise click.ClickException(
            f"`wallet {name}` needs the extra `{EXTRA}`: pip install 'mandate-wallet[{EXTRA}]'"
        )
    command: click.Command = getattr(import_module(MODULE), name)
    return command
