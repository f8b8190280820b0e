"""What became of calldata that was handed out: executed, or reverted with proof."""

from __future__ import annotations

from dataclasses import replace

from domain.facts import Receipt, VaultLog
from domain.ledger.payloads import Executed
from domain.mandates.approvals import Reservation
from domain.mandates.mandate import Mandate
from domain.money import Usdc
from domain.ports import Chain
from storage.unit_of_work import UnitOfWork


def executed_of(
    uow: UnitOfWork, m: Mandate, log: VaultLog, *, known: bool = False
) -> Reservation | None:
    """What was handed out for the very call that a vault's `Executed` tells of, before it was
    mined, and was not executed by another.

    `known`: the call had been executed by what was handed out before a reorganisation took it
    away, and may stand in an earlier block now.
    """
    told = log.args
    data_hash = told.get("dataHash")
    if data_hash is None:
        return None
    held = uow.reservations.of_call(
        m.public_id, str(told["target"]), str(data_hash), Usdc(told["approved"])
    )
    if held is None or held.outcome == "landed":
        return None
    return held if known or held.before(log.block.number, log.block.at) else None


def use_up(uow: UnitOfWork, m: Mandate, held: Reservation, tx_hash: str) -> None:
    """An execution ends the reservation of its very call and uses its approval up."""
    uow.reservations.end(m.public_id, held.action.action_hash, "landed", tx_hash)
    item = uow.approvals.get(m.public_id, held.approval_id) if held.approval_id else None
    if item is not None and item.status == "approved":
        uow.approvals.save(replace(item, status="used", used_by=tx_hash))


def give_back(uow: UnitOfWork, m: Mandate, called: Executed, tx_hash: str) -> None:
    """An execution that a reorganisation took away leaves what it used up as it was before: the
    reservation counts again, and the owner's approval is good for one execution.
    """
    place, data_hash = called.place.address, called.data_hash
    if place is None or data_hash is None:
        return
    held = uow.reservations.of_call(m.public_id, place, data_hash, called.approved)
    if held is None:
        return
    of_action = uow.approvals.of_action(m.public_id, held.action.action_hash)
    used = [a for a in of_action if a.status == "used" and a.used_by == tx_hash]
    if used:
        uow.approvals.save(replace(used[0], status="approved", used_by=None))
    uow.reservations.give_back(m.public_id, held.action.action_hash, tx_hash)


def end_reverted(uow: UnitOfWork, chain: Chain, m: Mandate, receipt: Receipt) -> None:
    """End the reservation of the very call that a receipt proves reverted; what was handed out
    anew since then still counts.
    """
    if receipt.ok or receipt.data is None or m.vault_address is None or receipt.to is None:
        return
    if receipt.to.lower() != m.vault_address.lower():
        return
    action = chain.action_called(m.vault_address, receipt.data)
    held = None if action is None else uow.reservations.of_action(m.public_id, action.action_hash)
    if held is None or held.outcome is not None or held.sender.lower() != receipt.sender.lower():
        return
    if held.before(receipt.block.number, receipt.block.at):
        uow.reservations.end(
            m.public_id, held.action.action_hash, "reverted", receipt.tx_hash.lower()
        )
