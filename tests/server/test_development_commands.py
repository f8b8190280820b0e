"""Commands of the development tools: listed without being loaded, and refused in one sentence where their extra is missing."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from devtools import commands
from server.cli import development
from server.cli.main import main


def short(command: click.Command) -> str:
    return command.get_short_help_str(1_000)


def test_the_list_has_the_line_of_every_command() -> None:
    of_theirs = {name: c for name, c in vars(commands).items() if isinstance(c, click.Command)}
    context = click.Context(main)
    assert of_theirs.keys() == development.COMMANDS.keys() <= set(main.list_commands(context))
    for name, command in of_theirs.items():
        listed = main.get_command(context, name)
        assert listed is not None
        assert short(listed) == short(command)


def test_the_list_of_commands_loads_no_development_tool() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from server.cli.main import main; "
        "done = CliRunner().invoke(main, ['--help']); assert 'devnet' in done.output; "
        "print([m for m in sys.modules if m.split('.')[0] in ('devtools', 'chain', 'eth')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("name", sorted(development.COMMANDS))
def test_without_the_extra_one_sentence_says_what_to_install(name: str, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setitem(sys.modules, development.LIBRARY, None)
    done = CliRunner().invoke(main, [name, "--help"])
    assert done.exit_code == 1
    assert done.output == f"Error: `wallet {name}` needs the extra `demo`: pip install 'mandate-wallet[demo]'\n"  # fmt: skip


@pytest.mark.parametrize("name", sorted(development.COMMANDS))
def test_with_it_the_command_is_the_tools_own(name: str) -> None:
    done = CliRunner().invoke(main, [name, "--help"])
    assert done.exit_code == 0
    assert done.output.startswith(f"Usage: main {name} ")
    options = {o for p in vars(commands)[name].params if isinstance(p, click.Option) for o in p.opts}  # fmt: skip
    assert all(option in done.output for option in options)
