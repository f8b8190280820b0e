"""Marks of vaults: what the keeper writes down of what it read, and which stand below their
line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from domain.facts import VaultState
from domain.ledger.events import Kind, NewEvent, Reporter
from domain.ledger.payloads import Marked
from domain.ledger.written import written
from domain.mandates.mandate import Mandate, Status
from domain.money import Usdc
from domain.rules.case import Case
from domain.rules.stop_line import at_stop_line, below, worth_marking
from storage.unit_of_work import UnitOfWork
from tools.keeper.intake import Desk

DUST = Usdc(1_000_000)


def mark_vaults(
    uow: UnitOfWork, desk: Desk, mandates: Sequence[Mandate], vaults: Mapping[str, VaultState]
) -> set[str]:
    """Note when each vault was read, and mark those of which a mark tells anything; gives the ids
    of those that stand below their stop line.

    In dry run nothing is written (contract 5): what stands below its line at this one reading is
    given, for the log. A vault worth less than 1 USDC costs the house no gas.
    """
    uow.mandates.refreshed([m.public_id for m in mandates], desk.now)
    low: set[str] = set()
    for m in mandates:
        vault = vaults.get(m.vault_address or "")
        if vault is None or not vault.exists or m.status is not Status.WORKING:
            continue
        dry = desk.switches.stop_line_dry_run
        at_line = below(vault) if dry else _marked(uow, desk, m, vault)
        if at_line and vault.cash + vault.positions >= DUST:
            low.add(m.public_id)
    return low


def _marked(uow: UnitOfWork, desk: Desk, m: Mandate, vault: VaultState) -> bool:
    known = uow.ledger.state(m.public_id).measured
    if not worth_marking(known, vault, desk.now, desk.config.mark_fresh_s):
        return False
    told = Marked(
        cash=vault.cash, positions=vault.positions, floor=vault.floor, block=vault.block.number
    )
    row = NewEvent(
        kind=Kind.NOTE,
        reported_by=Reporter.KEEPER,
        occurred_at=desk.now,
        chain_id=m.chain_id,
        payload=written(told),
    )
    uow.ledger.append(m.public_id, row, event_id=desk.ids.short("ev_"), now=desk.now)
    state = uow.ledger.state(m.public_id)
    return below(vault) and at_stop_line(Case(m, state, desk.now, desk.config, desk.switches))
