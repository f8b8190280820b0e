"""Status derivation: a mandate's status from its vault's rows, in the order of the chain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from domain.chain_facts import StagedLog, VaultState
from domain.ledger.state.ledger_state import LedgerState
from domain.mandates.mandate import OPEN_AGENT, Mandate, Status

OPEN: Final = frozenset({Status.SIGNED, Status.WORKING})
FOLLOWS: Final = frozenset({Status.SIGNED, Status.WORKING, Status.STOPPED, Status.SETTLED})


def derive_status(mandate: Mandate, state: LedgerState) -> Mandate:
    """The mandate after its ledger's newest rows.

    The row with the highest place in the chain says whether the agent is paused, the mandate
    stopped or settled; a stop of the record holds whatever the chain says. What a reorganisation
    took away is taken back here too.
    Source: contract 5, "Chain rows act by their place in the chain".
    """
    measured = state.measured
    if mandate.status not in FOLLOWS:
        return mandate
    on_chain = measured.stopped.at if measured.stopped is not None else None
    stops = [at for at in (on_chain, state.record_stop) if at is not None]
    if measured.settled is not None:
        status = Status.SETTLED
    elif stops:
        status = Status.STOPPED
    else:
        status = Status.WORKING if measured.deposits else Status.SIGNED
    # Before the first row that names an agent, a vault of open terms stays without one.
    has_open_agent = (
        mandate.signed is not None and mandate.signed.message.get("agent") == OPEN_AGENT
    )
    return replace(
        mandate,
        status=status,
        stopped_at=min(stops, default=None),
        settled_at=measured.settled.at if measured.settled is not None else None,
        paused_at=measured.paused_at
        if measured.paused is not None or not has_open_agent
        else mandate.paused_at,
    )


def acted_for(mandate: Mandate, state: LedgerState) -> bool:
    """True where the agent accepted the mandate, or its own wallet acted under it all the same.

    Source: contract 8, "an agent that acted before it accepted cannot leave the loss out".
    """
    wallet = mandate.agent_address.lower() if mandate.agent_address is not None else None
    return mandate.accepted_at is not None or wallet in state.callers


def apply_newest_block(
    mandate: Mandate, vault: VaultState | None, logs: Sequence[StagedLog]
) -> Mandate:
    """The mandate as the newest block that was read has it; `provisional` where its ledger does
    not say so yet.

    Shapes: `vault` is None or absent where it was not read, and then `logs`
    decide, in their order in the chain.
    Source: contract 5, "`mandate.paused` and `paused_at` follow the newest block that is read".
    """
    if mandate.status not in FOLLOWS:
        return mandate
    now = _after_logs(mandate, logs)
    if vault is not None and vault.exists:
        now = _after_logs(
            _apply_vault(now, vault), [g for g in logs if g.block > vault.block.number]
        )
    changed = (now.status, now.paused) != (mandate.status, mandate.paused)
    return replace(now, provisional=True) if changed else mandate


def _after_logs(mandate: Mandate, logs: Sequence[StagedLog]) -> Mandate:
    for log in logs:
        if log.name == "Settled":
            mandate = replace(mandate, status=Status.SETTLED, settled_at=log.at)
        elif mandate.status not in OPEN:
            continue
        elif log.name == "Stopped":
            mandate = replace(mandate, status=Status.STOPPED, stopped_at=log.at)
        elif log.name == "AgentRevoked":
            mandate = replace(mandate, paused_at=log.at)
        elif log.name == "AgentSet":
            mandate = replace(mandate, paused_at=None)
    return mandate


def _apply_vault(mandate: Mandate, vault: VaultState) -> Mandate:
    at = vault.block.at
    if vault.settled and mandate.status is not Status.SETTLED:
        mandate = replace(mandate, status=Status.SETTLED, settled_at=at)
    elif vault.stopped and mandate.status in OPEN:
        mandate = replace(mandate, status=Status.STOPPED, stopped_at=at)
    if vault.paused != mandate.paused:
        mandate = replace(mandate, paused_at=at if vault.paused else None)
    return mandate
