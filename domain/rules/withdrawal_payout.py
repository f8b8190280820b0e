"""Withdrawal payout: the amounts paid on leaving now, by the vault's own arithmetic."""

from __future__ import annotations

from dataclasses import dataclass

from domain.chain_facts import VaultState
from domain.mandates.mandate import OPEN_AGENT, Mandate
from domain.money import ZERO, Usdc


@dataclass(frozen=True, slots=True, kw_only=True)
class Pays:
    """The amounts that `withdrawAll` sends to the owner and leaves for the agent."""

    owner: Usdc
    agent_fee: Usdc


def pays(mandate: Mandate, vault: VaultState | None) -> Pays | None:
    """The payout if the owner withdraws in this block; None where the vault was not read.

    Source: `_settle` and `withdrawAll` of MandateVault.sol: the fee is a share of what came back
    beyond what was spent, rounded down, where there is an agent to earn it.
    """
    if vault is None or not vault.exists:
        return None
    fee = vault.fee_owed
    if not vault.settled:
        gain = max(ZERO, vault.total_returned - vault.total_spent)
        fee = gain.share_down(mandate.payout_bps) if _earner(mandate, vault) else ZERO
    return Pays(owner=max(ZERO, vault.balance - fee), agent_fee=fee)


def _earner(mandate: Mandate, vault: VaultState) -> bool:
    """True where the terms name an agent, or one was set: only an agent can have spent anything."""
    names_agent = mandate.signed is not None and mandate.signed.message.get("agent") != OPEN_AGENT
    return names_agent or vault.agent is not None or vault.total_spent > ZERO
