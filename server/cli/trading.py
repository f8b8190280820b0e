"""Trading commands: permissions to trade live, links at the venue, the signer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from server.cli.output import print_line, read_settings, run

if TYPE_CHECKING:
    from domain.trading.modes import TradingSurface
    from domain.trading.venue_values import Network


@click.group()
def allowlist() -> None:
    """People who may trade live; a change acts on the next request of every process."""


@allowlist.command("list")
def allowlist_list() -> None:
    """Show the wallets and people on the list."""
    from server.cli.maintenance import list_allowed

    print_line(run(lambda: list_allowed(read_settings())))


@allowlist.command("add")
@click.argument("item")
@click.option("--why", "reason", required=True, help="Kept in the limit log.")
def allowlist_add(item: str, reason: str) -> None:
    """Let ITEM, a wallet's address or a user id, trade live where the switches are on."""
    _allow(item, reason, allowed=True)


@allowlist.command("remove")
@click.argument("item")
@click.option("--why", "reason", required=True, help="Kept in the limit log.")
def allowlist_remove(item: str, reason: str) -> None:
    """Take ITEM off the list; it can still close what is open."""
    _allow(item, reason, allowed=False)


@allowlist.command("log")
@click.option("--newest", type=click.IntRange(1, 1_000), default=50, show_default=True)
def allowlist_log(newest: int) -> None:
    """Show the limit log: every change of who may trade live, and of how much."""
    from server.cli.maintenance import limit_log

    print_line(run(lambda: limit_log(read_settings(), newest)))


@click.command()
@click.argument("user_id")
@click.option("--surface", "transport", type=click.Choice(["door", "terminal"]), required=True)
@click.option("--per-order", help="USDC an order.")
@click.option("--per-day", help="USDC a UTC day.")
@click.option("--why", "reason", required=True, help="Kept in the limit log.")
def limits(
    user_id: str, transport: TradingSurface, per_order: str | None, per_day: str | None, reason: str
) -> None:
    """Set the own limits of USER_ID's orders, up or down; the operator's caps stand above them."""
    from server.cli.order_limits import set_limits

    amounts = {"per_order_usdc": per_order, "per_day_usdc": per_day}
    lines = run(lambda: set_limits(read_settings(), user_id, transport, amounts, reason))
    print_line(f"{lines.per_order} an order, {lines.per_day} a day")


def _allow(item: str, reason: str, *, allowed: bool) -> None:
    from server.cli.maintenance import set_allowed

    try:
        changed = run(lambda: set_allowed(read_settings(), item, reason, allowed=allowed))
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    if not changed:
        raise click.ClickException(f"{item} is {'on' if allowed else 'not on'} the list already")


@click.command()
@click.argument("wallet")
@click.option("--network", type=click.Choice(["mainnet", "testnet"]), required=True)
@click.option("--why", "reason", required=True, help="Kept with the ended link.")
def unlink(wallet: str, network: Network, reason: str) -> None:
    """End the link of a WALLET at the venue, and every key under it; only an operator moves a
    link."""
    from server.cli.maintenance import end_link

    if not run(lambda: end_link(read_settings(), wallet, network, reason)):
        raise click.ClickException(f"no link of {wallet} on {network}")


@click.command()
def signer() -> None:
    """Hold keeper keys behind a Unix socket, apart from the service; signs closes and cancels
    only."""
    from server.runtime.logs import prepare_logging
    from server.signer.daemon import NotStarted, run_signer

    settings = read_settings()
    prepare_logging(settings)
    try:
        run(lambda: run_signer(settings, _print_lines))
    except NotStarted as error:
        raise click.ClickException(str(error)) from None


def _print_lines(text: str) -> None:
    click.echo(text, err=True)
