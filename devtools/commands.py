"""The development tools' commands, which `server.cli.development` finds here by their names."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from server.cli.output import PORT, print_line, run


@click.command()
@click.option("--serve", is_flag=True, help="Keep the service up afterwards, with the door on.")
@click.option(
    "--port", type=PORT, default=0, show_default="a free one", help="Port of the service."
)
@click.option("--seller", help="Command of a paid service, for the last chapter (`make demo`).")
def demo(serve: bool, port: int, seller: str | None) -> None:
    """Run the end-to-end demo on an embedded EVM; exit 0 only if every check passed."""
    from devtools.demo.play import play

    sys.exit(run(lambda: play(stay=serve, port=port, seller=seller)))


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=PORT, default=8545, show_default=True)
@click.option("--chain-id", default=31337, show_default=True)
@click.option(
    "--journal", type=click.Path(path_type=Path), help="File that keeps the chain between runs."
)
@click.option("--venue", is_flag=True, help="A local trading venue beside it, both networks.")
@click.option(
    "--venue-port",
    type=PORT,
    default=8551,
    show_default=True,
    help="Of mainnet; testnet is one above.",
)
@click.option(
    "--markets",
    type=click.Path(path_type=Path),
    help="Write a markets file that names its market, and print its setting.",
)
def devnet(
    host: str,
    port: int,
    chain_id: int,
    journal: Path | None,
    venue: bool,
    venue_port: int,
    markets: Path | None,
) -> None:
    """Run the embedded EVM with JSON-RPC, a test USDC, a factory and a market."""
    from devtools.devnet import run_devnet

    at = venue_port if venue else None
    run(
        lambda: run_devnet(
            host, port, chain_id, journal, print_line, venue_port=at, markets=markets
        )
    )


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("command", nargs=-1, required=True)
@click.option("--only", multiple=True, help="Play this scenario alone; may be given several times.")
@click.option(
    "--limit",
    "limit_s",
    type=click.IntRange(5, 600),
    default=60,
    show_default=True,
    help="Seconds a run of the agent.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the matrix as JSON.")
def conform(command: tuple[str, ...], only: tuple[str, ...], limit_s: int, as_json: bool) -> None:
    """Drive an agent's COMMAND through lost answers, duplicates, pauses and limits, and print a
    pass matrix.
    """
    from devtools.conform.run import conform as play
    from devtools.conform.scenarios import SCENARIOS

    unknown = sorted(set(only) - {s.name for s in SCENARIOS})
    if unknown:
        raise click.UsageError(
            f"no such scenario: {', '.join(unknown)}; there are "
            f"{', '.join(s.name for s in SCENARIOS)}"
        )
    passed = run(
        lambda: play(command, only=only, limit_s=limit_s, as_json=as_json, report=click.echo)
    )
    sys.exit(0 if passed else 1)
