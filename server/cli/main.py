"""The command line: `wallet …`."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Literal

import click

from domain.refusals import Refused
from domain.settings import SWITCHES
from server.cli import trading
from server.cli.development import CommandGroup
from server.cli.output import PORT
from server.cli.output import print_line as _say
from server.cli.output import read_settings as _settings
from server.cli.output import run as _run
from server.runtime.gc_tuning import loading
from tools.model.toolsets import CORE, NAMES, parse_toolsets

HOUSE_ROLES = ("admin", "keeper")
_chain = click.option(
    "--chain",
    "chain_id",
    type=int,
    required=True,
    help="EIP-155 id; the settings hold its RPC address.",
)
_key_file = click.option(
    "--key-file",
    type=click.Path(path_type=Path),
    required=True,
    callback=lambda _context, _option, path: _key_of(path),
    help="The deployer's private key (mode 0600).",
)


def _key_of(path: Path) -> str:
    from server.mcp_api.local_signer import UnusableKey, key_of_file

    try:
        return key_of_file(path).secret
    except UnusableKey as unusable:
        raise click.BadParameter(str(unusable)) from None


@click.group(
    cls=CommandGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="mandate-wallet")
def main() -> None:
    """Delegated-spending wallet: an agent spends inside a mandate that its owner signed."""


@main.command()
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=PORT, default=8402, show_default=True)
@click.option(
    "--keeper/--no-keeper",
    default=True,
    show_default=True,
    help="Also run the chain reader and the keeper in this process.",
)
def serve(host: str, port: int, keeper: bool) -> None:
    """Serve HTTP, MCP over SSE and MCP over streamable HTTP on one port; SIGTERM drains and exits
    0.
    """
    gc.disable()  # until `freeze_startup_objects`
    from server.runtime.serve import serve_forever

    _run(lambda: serve_forever(_settings(), host, port, keeper=keeper, ready=_ready))


def _ready(address: str) -> None:
    click.echo(f"wallet: serving on {address}", err=True)


@main.command()
@click.option("--url", help="Stand in front of this service; nothing is stored here.")
@click.option(
    "--toolsets",
    default=CORE,
    show_default=True,
    help=f"Sets of tools to list, with commas between: {', '.join(NAMES)}.",
)
@click.option(
    "--agent-key-file",
    type=click.Path(path_type=Path),
    help="With --url: sign acts here, with the private key of this file (mode 0600).",
)
@click.option(
    "--agent-key-keyring",
    metavar="NAME",
    help="With --url: sign acts here, with the private key that the system's keyring has under "
    "this name of the service mandate-wallet.",
)
def mcp(
    url: str | None, toolsets: str, agent_key_file: Path | None, agent_key_keyring: str | None
) -> None:
    """Speak MCP on stdin and stdout, with the agent key of WALLET_SERVICE_USER_KEY."""
    try:
        parse_toolsets(toolsets)
    except Refused as unknown:
        why = unknown.refusal.fields[0]["msg"]
        raise click.BadParameter(f"it needs {why}", param_hint="--toolsets") from None
    if agent_key_file is not None and agent_key_keyring is not None:
        raise click.UsageError("--agent-key-file and --agent-key-keyring name one key each")
    if (agent_key_file is not None or agent_key_keyring is not None) and url is None:
        raise click.UsageError("--agent-key-file and --agent-key-keyring stand with --url")
    if url is None:
        with loading():
            from server.runtime.stdio import serve_stdio

        _run(lambda: serve_stdio(_settings(), toolsets))
        return
    from server.mcp_api.local_signer import (
        LocalSigner,
        UnusableKey,
        key_of_file,
        key_of_keyring,
    )
    from server.mcp_api.proxy import endpoint, relay

    try:
        address = endpoint(url)
    except ValueError as error:
        raise click.BadParameter(f"it needs {error}", param_hint="--url") from None
    settings = _settings()
    key = settings.service_user_key
    raw_key = key.get_secret_value() if key else None
    signer = None
    hint = "--agent-key-file" if agent_key_file is not None else "--agent-key-keyring"
    try:
        local = None if agent_key_file is None else key_of_file(agent_key_file)
        if agent_key_keyring is not None:
            home = Path(click.get_app_dir("mandate-wallet"))
            local = key_of_keyring(agent_key_keyring, home)
        if local is not None:
            gas_most = settings.agent_gas_most_wei
            signer = LocalSigner(local, address, raw_key, settings.mcp_wait_s, gas_most=gas_most)
    except UnusableKey as unusable:
        raise click.BadParameter(str(unusable), param_hint=hint) from None
    _run(lambda: relay(address, raw_key, settings.mcp_wait_s, toolsets, signer))


@main.command()
@click.option("--once", is_flag=True, help="One round of every tick, then exit.")
@click.option("--metrics-port", type=PORT, help="Health and metrics, on WALLET_METRICS_HOST.")
def keeper(once: bool, metrics_port: int | None) -> None:
    """Run the chain reader and the keeper without serving."""
    # As in `serve`: what is loaded stays.
    gc.disable()
    from server.runtime.keeper_process import keep

    _run(lambda: keep(_settings(), once=once, metrics_port=metrics_port))


@main.group()
def contracts() -> None:
    """Contracts on a chain."""


@contracts.command()
@_chain
@_key_file
@click.option(
    "--keeper-address",
    help="The keeper that may mark and unwind; default: the address of the keeper key.",
)
@click.option(
    "--approvals-on-chain",
    is_flag=True,
    help="Vaults ask for the owner's signature above the approval amount.",
)
def deploy(
    chain_id: int, key_file: str, keeper_address: str | None, approvals_on_chain: bool
) -> None:
    """Deploy the factory, the lens and the hubs of purses, and print the settings to add."""
    from server.cli.deployment import deploy_contracts

    _say(
        _run(
            lambda: deploy_contracts(
                _settings(),
                chain_id,
                key_file,
                keeper_address,
                approvals_on_chain=approvals_on_chain,
            )
        )
    )


@contracts.command()
@_chain
@click.option(
    "--keeper-address",
    help="The keeper that may mark and unwind; default: the address of the keeper key.",
)
@click.option(
    "--approvals-on-chain",
    is_flag=True,
    help="Vaults ask for the owner's signature above the approval amount.",
)
def addresses(chain_id: int, keeper_address: str | None, approvals_on_chain: bool) -> None:
    """Print where `deploy` puts the contracts, by CREATE2; asks and sends nothing."""
    from server.cli.deployment import contract_addresses

    _say(
        _run(
            lambda: contract_addresses(
                _settings(), chain_id, keeper_address, approvals_on_chain=approvals_on_chain
            )
        )
    )


@contracts.command("share-value")
@_chain
@_key_file
@click.option("--market", required=True, help="The ERC-4626 market, whose asset is USDC.")
def share_value(chain_id: int, key_file: str, market: str) -> None:
    """Deploy the value probe of a market, and print the line for its entry in the markets file."""
    from server.cli.deployment import deploy_share_value

    _say(_run(lambda: deploy_share_value(_settings(), chain_id, key_file, market)))


@main.group()
def db() -> None:
    """The database."""


@db.command()
@click.option("--check", is_flag=True, help="Write nothing; exit 1 where an upgrade is due.")
def upgrade(check: bool) -> None:
    """Migrate the database to this version."""
    from server.runtime.schema_upgrade import upgrade_database, upgrade_due

    if check:
        is_due, sentence = _run(lambda: upgrade_due(_settings()))
        _say(sentence)
        sys.exit(1 if is_due else 0)
    _run(lambda: upgrade_database(_settings()))
    _say("wallet: the database is up to date")


@db.command()
@click.option(
    "--against",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Heads that `wallet db heads` wrote: each has to stand in its ledger still.",
)
def verify(against: Path | None) -> None:
    """Verify every ledger: recompute states and hashes; exit 1 on a difference."""
    from server.cli.maintenance import verify_ledgers

    report = _run(lambda: verify_ledgers(_settings(), against))
    _say(report)
    sys.exit(0 if report["ok"] else 1)


@db.command()
@click.argument("target", type=click.Path(path_type=Path))
def backup(target: Path) -> None:
    """Copy the database while it is in use."""
    from server.cli.maintenance import backup_database

    _run(lambda: backup_database(_settings(), target))
    _say(f"wallet: wrote {target}")


@db.command()
@click.argument("source", type=click.Path(path_type=Path))
def restore(source: Path) -> None:
    """Make the database out of a backup, where none is."""
    from server.cli.maintenance import HELD_BACK, restore_database

    _run(lambda: restore_database(_settings(), source))
    _say(f"wallet: restored {source}")
    held_back = ", ".join(f"{name} is {value}" for name, value in HELD_BACK.items())
    _say(f"wallet: {held_back}, until you set them with `wallet switch set`")


@db.command()
@click.argument("target", type=click.Path(path_type=Path))
def heads(target: Path) -> None:
    """Write the head of every ledger, to be kept elsewhere for `wallet db verify --against`."""
    from server.cli.maintenance import anchor_ledgers

    _say(_run(lambda: anchor_ledgers(_settings(), target)))


@db.command()
@click.argument("target", type=click.Path(path_type=Path))
def export(target: Path) -> None:
    """Write every ledger as JSON lines with its hashes, so that others can prove that no row is
    missing.
    """
    from server.cli.maintenance import export_ledgers

    _say(_run(lambda: export_ledgers(_settings(), target)))


@main.group()
def keys() -> None:
    """Keeper and admin keys."""


@keys.command("create")
@click.option("--role", type=click.Choice(HOUSE_ROLES), required=True)
def keys_create(role: Literal["keeper", "admin"]) -> None:
    """Create a key; it is shown once."""
    from server.cli.maintenance import create_house_key

    _say(_run(lambda: create_house_key(_settings(), role)))


@keys.command("list")
def keys_list() -> None:
    """List the keys, never their secrets."""
    from server.cli.maintenance import list_house_keys

    _say(_run(lambda: list_house_keys(_settings())))


@keys.command("revoke")
@click.argument("key_id")
def keys_revoke(key_id: str) -> None:
    """Revoke a key at once."""
    from server.cli.maintenance import revoke_house_key

    if not _run(lambda: revoke_house_key(_settings(), key_id)):
        raise click.ClickException(f"there is no live key {key_id}")


@main.group()
def switch() -> None:
    """Availability switches; a change acts on the next request of every process."""


@switch.command("list")
def switch_list() -> None:
    """Show every switch and where its value comes from."""
    from server.cli.maintenance import list_switches

    _say(_run(lambda: list_switches(_settings())))


@switch.command("set")
@click.argument("name", type=click.Choice(SWITCHES))
@click.argument("value", type=click.Choice(["on", "off"]))
def switch_set(name: str, value: str) -> None:
    """Set a switch."""
    from server.cli.maintenance import set_switch

    _run(lambda: set_switch(_settings(), name, value))


@main.command("push-key")
def push_key() -> None:
    """Make a key for Web Push: WALLET_VAPID_PRIVATE_KEY of every process. It is stored nowhere."""
    from tools.model.web_push import new_private_key

    _say(new_private_key())


@main.command()
def counts() -> None:
    """Say how many agents, mandates and recorded actions there are."""
    from server.cli.maintenance import count

    _say(_run(lambda: count(_settings())))


@main.command()
def openapi() -> None:
    """Print the OpenAPI document."""
    from http_shim.openapi import as_text, document
    from tools.catalogue import OPERATIONS

    _say(as_text(document(OPERATIONS, base_url=_settings().config().base_url)))


@main.command()
@click.option("--strict", is_flag=True, help="Exit 1 on a warning too.")
@click.option("--json", "in_json", is_flag=True, help="Print the findings as JSON.")
def doctor(strict: bool, in_json: bool) -> None:
    """Say what is set, what is missing and what that switches off; exit 1 where something set does
    not work.
    """
    from server.cli.doctor import as_json, examine, render

    findings = _run(lambda: examine(_settings()))
    if in_json:
        _say(as_json(findings))
    else:
        render(findings)
    enough = ("ok",) if strict else ("ok", "warning")
    sys.exit(0 if all(f.status in enough for f in findings) else 1)


for _command in (trading.allowlist, trading.limits, trading.unlink, trading.signer):
    main.add_command(_command)
