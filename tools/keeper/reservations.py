"""Reservations: consumed by an execution, restored by a proven revert."""

from __future__ import annotations

from dataclasses import replace

from domain.chain_facts import Receipt, VaultLog
from domain.ledger.events.payloads import Executed
from domain.mandates.approvals import Approval, Reservation
from domain.mandates.mandate import Mandate
from domain.money import Usdc
from domain.ports import Chain
from storage.unit_of_work import UnitOfWork


def executed_of(
    uow: UnitOfWork, mandate: Mandate, log: VaultLog, *, known: bool = False
) -> Reservation | None:
    """The reservation for the very call that a vault's `Executed` names, made before it was mined,
    and not executed by another.

    `known`: the call had been executed by what was handed out before a reorganisation took it
    away, and may stand in an earlier block now.
    """
    data_hash = log.args.get("dataHash")
    if data_hash is None:
        return None
    target, approved = str(log.args["target"]), Usdc(log.args["approved"])
    reservation = uow.reservations.of_call(mandate.public_id, target, str(data_hash), approved)
    if reservation is None or reservation.outcome == "landed":
        return None
    return reservation if known or reservation.before(log.block.number, log.block.at) else None


def approval_of(
    uow: UnitOfWork, mandate: Mandate, reservation: Reservation | None
) -> Approval | None:
    """The owner's approval behind a reservation; None where it took none."""
    approval_id = None if reservation is None else reservation.approval_id
    return uow.approvals.get(mandate.public_id, approval_id) if approval_id else None


def consume(uow: UnitOfWork, mandate: Mandate, reservation: Reservation, tx_hash: str) -> None:
    """An execution ends the reservation of its very call and uses its approval up."""
    uow.reservations.end(mandate.public_id, reservation.action.action_hash, "landed", tx_hash)
    item = approval_of(uow, mandate, reservation)
    if item is not None and item.status == "approved":
        uow.approvals.save(replace(item, status="used", used_by=tx_hash))


def restore(uow: UnitOfWork, mandate: Mandate, called: Executed, tx_hash: str) -> None:
    """An execution that a reorganisation took away leaves what it used up as it was before: the
    reservation counts again, and the owner's approval is good for one execution.
    """
    place, data_hash = called.target.address, called.data_hash
    if place is None or data_hash is None:
        return
    reservation = uow.reservations.of_call(mandate.public_id, place, data_hash, called.approved)
    if reservation is None:
        return
    approvals = uow.approvals.of_action(mandate.public_id, reservation.action.action_hash)
    used = [a for a in approvals if a.status == "used" and a.used_by == tx_hash]
    if used:
        uow.approvals.save(replace(used[0], status="approved", used_by=None))
    uow.reservations.give_back(mandate.public_id, reservation.action.action_hash, tx_hash)


def release_reverted(uow: UnitOfWork, chain: Chain, mandate: Mandate, receipt: Receipt) -> None:
    """End the reservation of the very call that a receipt proves reverted; what was handed out
    anew since then still counts.
    """
    if receipt.ok or receipt.data is None or mandate.vault_address is None or receipt.to is None:
        return
    if receipt.to.lower() != mandate.vault_address.lower():
        return
    action = chain.action_called(mandate.vault_address, receipt.data)
    if action is None:
        return
    reservation = uow.reservations.of_action(mandate.public_id, action.action_hash)
    if (
        reservation is not None
        and reservation.outcome is None
        and reservation.sender.lower() == receipt.sender.lower()
        and reservation.before(receipt.block.number, receipt.block.at)
    ):
        tx_hash = receipt.tx_hash.lower()
        uow.reservations.end(mandate.public_id, action.action_hash, "reverted", tx_hash)
