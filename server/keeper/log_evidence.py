"""Log evidence: reads of the chain that settle a doubt about stored logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from chain.adapter import EvmChain
from chain.contracts.purse_logs import paired
from domain.chain_facts import PurseFacts, VaultLog


@dataclass(slots=True)
class ChainEvidence:
    """The chain's evidence about transactions and vaults that the given logs leave in doubt.

    Shapes: `transactions` hold the logs of each, none where it is in no block that stands;
    `vaults` whether each is there, `blocks` the hash of each.
    """

    transactions: dict[str, tuple[VaultLog, ...]] = field(default_factory=dict)
    vaults: dict[str, bool] = field(default_factory=dict)
    blocks: dict[int, str | None] = field(default_factory=dict)

    def proven_logs(self, logs: Sequence[VaultLog], high: int) -> list[VaultLog]:
        """The logs up to a block, those of the transactions asked for as the chain says."""
        proven = [g for g in logs if g.tx_hash not in self.transactions]
        for own in self.transactions.values():
            proven += [g for g in own if g.block.number <= high]
        return sorted(proven, key=lambda g: (g.block.number, g.log_index))


async def left_by(
    view: EvmChain, tx_hash: str, purses: Mapping[str, PurseFacts]
) -> tuple[VaultLog, ...]:
    """The logs of a transaction by one node's word, those of `purses` (by address in lower case)
    with them; none where no block that stands has it.
    """
    receipt = await view.receipt(tx_hash)
    if receipt is None or not receipt.ok:
        return ()
    here = await view.block(receipt.block.number)
    if here is None or here.hash != receipt.block.hash:
        return ()
    return (*receipt.logs, *paired(receipt.purse_logs, purses))
