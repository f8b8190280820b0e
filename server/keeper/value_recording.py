"""Value recording: writes the worth of a vault's positions on chain; its exits depend on it."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from chain.adapter import EvmChain
from domain.chain_facts import VaultState
from domain.mandates.mandate import Mandate
from domain.money import ZERO, Usdc
from domain.rules.mark_policy import LOOK_BACK, came_out_low, ends_soon, fall_persists, record_drift
from tools.keeper.block_time import newest
from tools.keeper.settlement import send_for
from tools.model.operation import Deps

log = logging.getLogger("wallet.keeping")
REST_S: Final = 3_600
# After a fall, and after a look that sent nothing in the last hour.
SHORT_REST_S: Final = 300
TRIES: Final = 2
SAID_EVERY: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Rest:
    """The time to leave work alone; `sent`: it cost gas, and is done once by the same figures."""

    s: int = 0
    sent: bool = False


class Recording:
    """Renews the recorded value of the vaults of one chain by `record()`, which stops nothing, so
    that it does so in dry run too. Gains at most every `every_s` seconds a mandate, 0 records
    nothing; a fall once it stood for some blocks, at most every five minutes.
    """

    def __init__(self, deps: Deps, chain: EvmChain, every_s: int):
        self.deps, self.chain, self._every_s = deps, chain, every_s
        self._said: dict[str, datetime] = {}

    def due(self, mandate: Mandate, vault: VaultState) -> str | None:
        """The kind of work that is due; where it is another's, the log says whose."""
        move = record_drift(mandate, vault)
        if move is None:
            self._said.pop(mandate.public_id, None)
        elif self.deps.keeper is None or not self._every_s:
            self._say(mandate, vault)
            return None
        return "last gain" if move == "gain" and ends_soon(mandate, vault) else move

    def _say(self, mandate: Mandate, vault: VaultState) -> None:
        now = self.deps.clock.now()
        if now - self._said.get(mandate.public_id, now - SAID_EVERY) < SAID_EVERY:
            return
        self._said[mandate.public_id] = now
        why = "no keeper key is set" if self._every_s else "WALLET_KEEPER_MARK_S is 0"
        log.warning(
            "%s: %s USDC stands recorded for its positions, now it is %s; %s, its owner may record",
            mandate.public_id, vault.recorded, vault.positions, why,
        )  # fmt: skip

    async def renew(self, mandate: Mandate) -> Rest:
        """Record the value now, where the newest block still says so and the key can pay for what
        matters more too. A record that a pressed market made too low is followed by another at
        once.
        """
        sent: list[str] = []
        for tries in range(1, TRIES + 1):
            vault = await newest(self.deps, self.chain, mandate)
            move = record_drift(mandate, vault)
            if move is None:
                return Rest(SHORT_REST_S if ends_soon(mandate, vault) else REST_S, bool(sent))
            if move == "fall" and not fall_persists(
                mandate, await self._before(mandate, vault), vault
            ):
                return Rest(0, bool(sent))
            if self.deps.keeper is None or not await self.deps.keeper.affords(mandate.chain_id):
                log.warning(
                    "%s is not recorded: the keeper's key is short of gas", mandate.public_id
                )
                return Rest(REST_S, bool(sent))
            await send_for(self.deps, self.chain, mandate, "record", sent)
            if len(sent) < tries:  # it would revert
                break
            recorded = await self._recorded_value(sent[-1])
            log.info(
                "%s: recorded %s, was %s (%s)",
                mandate.public_id,
                recorded,
                vault.recorded,
                sent[-1],
            )
            if not came_out_low(vault.positions, recorded):
                return Rest(SHORT_REST_S if move == "fall" else self._every_s, sent=True)
            log.warning("%s: its market was pressed while it was recorded", mandate.public_id)
        return Rest(REST_S, bool(sent))

    async def _before(self, mandate: Mandate, vault: VaultState) -> VaultState | None:
        """The state of a vault some blocks before one, by enough nodes."""
        back = max(self.chain.confirmations, LOOK_BACK)
        at = await self.chain.block(max(0, vault.block.number - back))
        if at is None:
            return None
        states = await self.chain.vault_states([vault.address], agreed=True, block=at)
        return states.get(vault.address)

    async def _recorded_value(self, tx_hash: str) -> Usdc:
        """The value that a transaction of ours recorded."""
        receipt = await self.chain.receipt(tx_hash)
        logs = receipt.logs if receipt is not None else ()
        return next((Usdc(int(g.args["positions"])) for g in logs if g.name == "Marked"), ZERO)
