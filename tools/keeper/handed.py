"""What became of calldata that was handed out: executed, or reverted with proof."""

from __future__ import annotations

from domain.facts import Receipt, VaultLog
from domain.mandates.approvals import Reservation
from domain.mandates.mandate import Mandate
from domain.money import Usdc
from domain.ports import Chain
from storage.unit_of_work import UnitOfWork


def executed_of(uow: UnitOfWork, m: Mandate, log: VaultLog) -> Reservation | None:
    """What was handed out for the very call that a vault's `Executed` tells of, before it was
    mined, and was not executed by another.
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
    return held if held.before(log.block.number, log.block.at) else None


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
