"""Reservations: consumed by an execution, restored by a proven revert."""

from __future__ import annotations

from dataclasses import replace

from domain.chain_facts import Receipt, VaultLog
from domain.ledger.events.payloads import Executed
from domain.mandates.approvals import Reservation
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
    args = log.args
    data_hash = args.get("dataHash")
    if data_hash is None:
        return None
    reservation = uow.reservations.of_call(
        mandate.public_id, str(args["target"]), str(data_hash), Usdc(args["approved"])
    )
    if reservation is None or reservation.outcome == "landed":
        return None
    return reservation if known or reservation.before(log.block.number, log.block.at) else None


def consume(uow: UnitOfWork, mandate: Mandate, reservation: Reservation, tx_hash: str) -> None:
    """An execution ends the reservation of its very call and uses its approval up."""
    uow.reservations.end(mandate.public_id, reservation.action.action_hash, "landed", tx_hash)
    item = (
        uow.approvals.get(mandate.public_id, reservation.approval_id)
        if reservation.approval_id
        else None
    )
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
    reservation = (
        None
        if action is None
        else uow.reservations.of_action(mandate.public_id, action.action_hash)
    )
    if (
        reservation is None
        or reservation.outcome is not None
        or reservation.sender.lower() != receipt.sender.lower()
    ):
        return
    if reservation.before(receipt.block.number, receipt.block.at):
        uow.reservations.end(
            mandate.public_id, reservation.action.action_hash, "reverted", receipt.tx_hash.lower()
        )
