"""`wallet doctor`: what is set, what is missing, and what that switches off."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from contextlib import suppress
from datetime import datetime
from typing import Final

from rich.console import Console
from rich.table import Table

from chain.adapter import ChainConfig, EvmChain
from chain.agreed_view import agreed_view
from chain.logs.log_reader import LogReader
from chain.quorum import majority, note_dissent, query_each_node
from domain.chain_facts import BlockStamp
from domain.mandates.markets import from_config
from domain.ports import Clock
from domain.refusals import Refused, SigningRefused
from server.cli.host_checks import (
    database_files,
    examine_address,
    examine_files,
    examine_names,
    readable,
)
from server.cli.maintenance import write
from server.cli.output import DoctorFinding
from server.cli.purse_checks import examine_hub, examine_payments
from server.cli.venue_checks import examine_venue
from server.retry_logging import without_retries
from server.settings import Settings
from server.signer.client import SignerClient
from server.system import SystemClock
from server.wiring import mail_client, web_push
from storage.errors import Unavailable
from storage.read_replica import ANOTHER, replica_state
from storage.schema.revision import (
    database_name,
    is_before_first,
    is_enough,
    is_newer,
    latest,
    revision,
)
from storage.store import open_store
from tools.model.switches import is_on

FILE_COLUMNS: Final = 240
CLOCK: Final = SystemClock()
AHEAD_S: Final = 30
"""Seconds that a block may be ahead of this machine's clock."""
LOGS_OF: Final = 10
"""Blocks whose logs each node is asked for."""


async def examine(settings: Settings) -> list[DoctorFinding]:
    """Look at everything."""
    facts = settings.chain_facts()
    looks = [*map(_chain_findings, facts), examine_venue(settings)]
    own = (
        _database(settings), _replica(settings), examine_address(settings), _mail(settings),
        _agents_keys(settings),
    )  # fmt: skip
    # Side by side, and each once: whoever asks waits for the slowest, not for their sum.
    with without_retries():
        host, groups = await asyncio.gather(asyncio.gather(*own), asyncio.gather(*looks))
    parts = (
        examine_names, examine_files, _keeper, _state_keys, _webhooks, _push, _markets,
        _proxies,
    )  # fmt: skip
    findings = [*filter(None, host), *(part(settings) for part in parts)]
    if not facts:
        effect = "no vault can be created or read: set WALLET_CHAINS__<id>__RPC_URL"
        findings.append(DoctorFinding("chains", True, "none is set", effect, warns=True))
    findings += itertools.chain(*groups)
    door = settings.switches().door
    effect = "" if door else "mandate_* tools are hidden"
    return [*findings, DoctorFinding("bot door", True, "on" if door else "off", effect)]


async def _chain_findings(fact: ChainConfig) -> list[DoctorFinding]:
    chain = EvmChain(fact)
    try:
        return await _chain(chain)
    finally:
        await chain.close()


async def _database(settings: Settings) -> DoctorFinding:
    shown = database_name(settings.database_url)
    try:
        at = await revision(settings.database_url)
    except (Unavailable, ValueError) as error:
        return DoctorFinding("database", False, f"{shown}: {error}", "nothing works")
    if not is_enough(at):
        advice = "run: wallet db upgrade"
        if at is not None and is_newer(at):
            advice = "run the version that upgraded it"
        elif at is not None and is_before_first(at):
            advice = "begin with an empty one"
        state = "missing or empty" if at is None else f"revision {at}, {latest()} is needed"
        return DoctorFinding("database", False, f"{shown}: {state}", advice)
    now = CLOCK.now()
    try:
        await write(settings, lambda uow: uow.work.acquire("probe", "ready", "probe", now, now))
    except Unavailable as error:
        return DoctorFinding("database", False, f"{shown}: {error}", "nothing can be written")
    open_files = readable(database_files(settings.database_url))
    return DoctorFinding("database", True, f"{shown}: revision {at}", open_files, bool(open_files))


async def _replica(settings: Settings) -> DoctorFinding | None:
    """The standby beside its primary, where one is named."""
    if settings.database_read_url is None:
        return None
    name, shown = "read replica", database_name(settings.database_read_url)
    effect = "the primary reads everything"
    most_ms = settings.database_read_lag_ms
    urls = settings.database_url, settings.database_read_url
    try:
        state = await replica_state(*urls, settings.patience(), most_ms)
    except Unavailable as error:
        return DoctorFinding(name, False, f"{shown}: {error.why}", effect)
    if not state.is_same:
        return DoctorFinding(name, False, f"{shown}: {ANOTHER}", effect)
    if not state.follows:
        return DoctorFinding(name, False, f"{shown}: it takes writes, and follows nothing", effect)
    if state.behind_ms is None:
        behind = f"{shown}: more than {most_ms} ms behind"
        return DoctorFinding(name, True, behind, f"{effect} meanwhile", warns=True)
    return DoctorFinding(name, True, f"{shown}: read-only, {state.behind_ms} ms behind")


def _keeper(settings: Settings) -> DoctorFinding:
    if settings.keeper_private_key is None:
        return DoctorFinding(
            "keeper key",
            True,
            "not set",
            "the keeper sends nothing, and after a fall only the owner records the value by which "
            "exits are judged (record-call): set WALLET_KEEPER_PRIVATE_KEY or its _FILE",
            warns=True,
        )
    if not settings.keeper_mark_s:
        why = "WALLET_KEEPER_MARK_S is 0: only the owner records the value that exits are judged by"
        return DoctorFinding("keeper key", True, "set", why, warns=True)
    return DoctorFinding("keeper key", True, "set", "it records values in dry run too")


def _state_keys(settings: Settings) -> DoctorFinding:
    """The keys that several processes need; SQLite has one process."""
    if settings.state_keys is not None:
        count = len(settings.state_ring().keys)
        return DoctorFinding("state keys", True, f"{count} set, the first one seals")
    if settings.database_url.startswith("sqlite:"):
        return DoctorFinding(
            "state keys", True, "not set", "a restart forgets what callers hold", warns=True
        )
    why = "a second process refuses what this one sealed: set WALLET_STATE_KEYS in each, alike"
    return DoctorFinding("state keys", False, "PostgreSQL, and none is set", why)


def _webhooks(settings: Settings) -> DoctorFinding:
    if settings.webhook_key is None:
        why = "no owner is told by webhook: set WALLET_WEBHOOK_KEY (32 characters or more)"
        return DoctorFinding("webhook key", True, "not set", why, warns=True)
    if settings.config().webhook_allow_private:
        return DoctorFinding(
            "webhook key", True, "set", "private addresses are called: for tests only", warns=True
        )
    return DoctorFinding("webhook key", True, "set")


def _push(settings: Settings) -> DoctorFinding:
    push = web_push(settings)
    if push is None:
        why = "no browser is told: set WALLET_VAPID_PRIVATE_KEY to what `wallet push-key` prints"
        return DoctorFinding("browsers", True, "no key", why, warns=True)
    if push.contact is None:
        why = "some push services take nothing: set WALLET_PUSH_CONTACT or an https WALLET_BASE_URL"
        return DoctorFinding("browsers", True, "no contact", why, warns=True)
    return DoctorFinding("browsers", True, f"told in the name of {push.contact}")


async def _agents_keys(settings: Settings) -> DoctorFinding:
    """The signer's keys of agents, beside those that the database names."""
    if not is_on(settings.hosted_agents):
        return DoctorFinding("agents' keys", True, "off", "an agent acts with a key of its own")
    if settings.signer_socket is None:
        why = "no key can be held for an agent: set WALLET_SIGNER_SOCKET"
        return DoctorFinding("agents' keys", False, "on, without a signer", why)
    try:
        held = await SignerClient(settings.signer_socket).agent_key_count()
    except Refused:
        why = "no agent whose key is held acts, and no key is made or put away"
        return DoctorFinding("agents' keys", False, "on, and the signer does not answer", why)
    except SigningRefused as refused:
        return DoctorFinding("agents' keys", False, "on here, and not in the signer", str(refused))
    try:
        store = await open_store(settings.database_url, settings.patience())
        try:
            signing = await store.read(lambda uow: uow.hosted_keys.count(CLOCK.now()))
        finally:
            await store.close()
    except Exception:
        # The database has a finding of its own.
        return DoctorFinding("agents' keys", True, f"on, {held} in the signer")
    lost = "" if held >= signing else "the signer lacks keys that mandates name"
    state = f"on, {held} in the signer, {signing} in use"
    return DoctorFinding("agents' keys", not lost, state, lost)


async def _mail(settings: Settings) -> DoctorFinding:
    """The mail server, greeted by name and password; nothing is sent."""
    if settings.smtp_url is None:
        why = "no owner is told by e-mail: set WALLET_SMTP_URL and WALLET_MAIL_FROM"
        return DoctorFinding("e-mail", True, "not set", why, warns=True)
    client = mail_client(settings, settings.base_url or "")
    if client is None:
        why = "WALLET_MAIL_FROM and WALLET_WEBHOOK_KEY are needed too"
        return DoctorFinding("e-mail", False, "a mail server alone", why)
    result = await client.greet()
    if result.fault is not None:
        state = f"{result.fault.replace('_', ' ')} {result.status or ''}".strip()
        return DoctorFinding("e-mail", False, state, "no owner is told by e-mail")
    return DoctorFinding("e-mail", True, f"from {settings.mail_from}")


def _proxies(settings: Settings) -> DoctorFinding:
    after = (settings.base_url or "").startswith("https://")
    if settings.trusted_proxies:
        return DoctorFinding("proxies", True, settings.trusted_proxies)
    if not after:
        return DoctorFinding("proxies", True, "none is trusted")
    why = "all callers count as one: set WALLET_TRUSTED_PROXIES to what serves https"
    return DoctorFinding("proxies", False, "https, and none is trusted", why)


def _markets(settings: Settings) -> DoctorFinding:
    try:
        markets = from_config(settings.config().markets)
    except (ValueError, OSError) as error:
        return DoctorFinding("markets", False, str(error), "the service does not start")
    live = sum(m.enforced_by == "contract" and m.status == "live" for m in markets)
    state = f"{len(markets)} configured, {live or 'none'} a live contract market"
    why = "" if live else "owners allow contracts by address alone: set WALLET_MARKETS_FILE"
    bare = [m.id for m in markets if m.kind == "erc4626" and m.share_value is None]
    if live and bare:
        why = f"without share_value a squeeze of {', '.join(bare[:3])} counts as a loss"
        why += ": wallet contracts share-value"
    return DoctorFinding("markets", True, state, why, warns=bool(why))


def _clock(name: str, newest: BlockStamp, now: datetime) -> list[DoctorFinding]:
    """A newest block that is made later than now: this machine's clock is behind. One whose clock
    is ahead takes every block for one that stands still, and that is told of the chain.
    """
    ahead_s = (newest.at - now).total_seconds()
    if ahead_s <= AHEAD_S:
        return []
    state = f"its newest block is {ahead_s:.0f} s ahead of this machine's clock"
    return [DoctorFinding(f"{name} clock", False, state, "set this machine's clock")]


async def _chain(chain: EvmChain, clock: Clock = CLOCK) -> list[DoctorFinding]:
    name = f"chain {chain.chain_id}"
    if not chain.rpc_set:
        return [DoctorFinding(name, True, "no RPC address", "it is not read", warns=True)]
    nodes, head = await _nodes(name, chain, clock), chain.node()
    findings = list(nodes)
    try:
        newest = await chain.newest()
    except Refused as refused:
        effect = "nothing of it is believed" if chain.node_problem else "it is not read"
        return [*findings, DoctorFinding(name, False, refused.refusal.reason, effect)]
    if chain.confirmations:
        findings += _clock(name, newest.block, clock.now())
    need = len(nodes) // 2 + 1
    if nodes and sum(node.works for node in nodes) < need:
        why = f"{need} of {len(nodes)} nodes have to agree"
        effect = "nothing is marked or settled"
        findings.append(DoctorFinding(f"{name} quorum", False, why, effect))
    if head.trouble is not None:
        findings.append(DoctorFinding(name, False, head.trouble, "nothing of it is believed"))
        return findings
    times = (
        ""
        if newest.proved is not None
        else "its headers hold fields that are not known: block times are trusted"
    )
    state = f"block {newest.block.number}, {chain.facts.confirmations} confirmations"
    findings.append(DoctorFinding(name, True, state, times))
    return [*findings, *await _contracts(chain, name)]


async def _contracts(chain: EvmChain, name: str) -> list[DoctorFinding]:
    """Look at the contracts that the chain's settings name."""
    findings = []
    for subject, address, effect in (
        ("USDC", chain.usdc, "funding is refused"),
        ("factory", chain.factory, "no vault can be created"),
        ("lens", chain.facts.lens, "vaults are read one by one, a call a field"),
        ("purse hub", chain.facts.purse_hub, "no terms have a purse"),
        ("purse deployer", chain.facts.purse_deployer, "no purse has limits of its own"),
    ):
        if address is None:
            findings.append(DoctorFinding(f"{name} {subject}", True, "not set", effect, warns=True))
            continue
        code = await chain.node().ask("eth_getCode", address, "latest")
        there = isinstance(code, str) and len(code) > 2
        findings.append(
            DoctorFinding(
                f"{name} {subject}",
                there,
                address if there else f"{address}: no contract there",
                "" if there else effect,
            )
        )
        if there and subject == "factory":
            findings.append(await _approvals(chain, name, address))
        if there and subject.startswith("purse"):
            findings += await examine_hub(chain, f"{name} {subject}", address)
    if chain.usdc and (chain.facts.purse_hub or chain.facts.purse_deployer):
        findings.append(await examine_payments(chain, f"{name} USDC payments", chain.usdc))
    return findings


async def _approvals(chain: EvmChain, name: str, factory: str) -> DoctorFinding:
    """Whether the vaults keep approvals: the factory says it, and no setting."""
    subject = f"{name} approvals"
    try:
        vault_keeps_approvals = await chain.approvals_on_chain(factory)
    except Refused as refused:
        return DoctorFinding(
            subject, False, refused.refusal.reason, "terms with an amount are refused"
        )
    if vault_keeps_approvals:
        return DoctorFinding(
            subject, True, "kept by the vaults", "the owner signs each action above it"
        )
    return DoctorFinding(subject, True, "kept by the service", "the switch approval_gate decides")


async def _nodes(name: str, chain: EvmChain, clock: Clock) -> list[DoctorFinding]:
    """Each node by its place as the reader would judge it; its address may hold a key."""
    nodes = chain.node()
    with suppress(Refused):
        at = await agreed_view(chain, clock.now())
        high = at.number - chain.confirmations
        if at.heads and high >= 0:
            await at.confirm(chain.views[min(at.heads)], high, None)
            await _logs(chain, range(max(0, high - LOGS_OF + 1), high + 1))
    if len(chain.views) == 1:
        return []  # what is told of the chain is told of the node
    faults = dict(nodes.fault_names())
    return [
        await _node(name, n, view, faults.get(n)) for n, view in enumerate(chain.views, start=1)
    ]


async def _logs(chain: EvmChain, blocks: range) -> None:
    """Ask each node for the logs of some blocks: one may tell of blocks alone."""
    statement = await query_each_node(
        chain, lambda v: LogReader(v).all_logs(blocks.start, blocks.stop - 1)
    )
    same = majority(len(chain.views), statement)
    if same:
        note_dissent(chain.node(), "the logs of some blocks", same, statement)


async def _node(name: str, n: int, view: EvmChain, fault: str | None) -> DoctorFinding:
    subject = f"{name} node {n}"
    if fault is not None:
        return DoctorFinding(subject, False, fault, "it is left out")
    try:
        return DoctorFinding(subject, True, f"block {(await view.latest()).number}")
    except Refused as refused:
        return DoctorFinding(subject, False, refused.refusal.reason, "the others are asked")


def as_json(findings: list[DoctorFinding]) -> dict[str, object]:
    """The findings for programs.

    Shape: `{ok, faults, warnings, findings[] {what, status, state, effect}}`; `status` is ok,
    warning or fault, `ok` is true without faults.
    """
    count = Counter(f.status for f in findings)
    rows = [
        {"what": f.what, "status": f.status, "state": f.state, "effect": f.effect} for f in findings
    ]
    return {
        "ok": not count["fault"],
        "faults": count["fault"],
        "warnings": count["warning"],
        "findings": rows,
    }


_SHOWN: Final = {"ok": "ok", "warning": "warning", "fault": "FAULT"}


def render(findings: list[DoctorFinding]) -> None:
    """Print the findings."""
    table = Table("", "what", "state", "effect")
    for f in findings:
        table.add_row(_SHOWN[f.status], f.what, f.state, f.effect)
    console = Console()
    # Lines that others read are broken nowhere: what to type stands in one piece.
    (console if console.is_terminal else Console(width=FILE_COLUMNS)).print(table)
