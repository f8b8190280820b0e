"""Trusted block time: a node may report any time, so the keeper bounds it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from domain.chain_facts import VaultState
from domain.mandates.mandate import Mandate
from domain.ports import Chain
from tools.model.operation import Deps

TOLERANCE: Final = timedelta(minutes=10)
"""How far one node's newest block may stand from the service's own clock: more than a node lags
that is still read, and far less than a mandate lasts."""


def with_trusted_time(chain: Chain, vault: VaultState, now: datetime) -> VaultState:
    """The vault with a block time by which it may be closed, settled or left alone.

    The chain's time decides. What more than half of several nodes say is the chain's; what one says
    is taken no further from our clock than `TOLERANCE`. A chain without confirmations is one for
    development, whose time is whatever its owner says.
    Shapes: `vault` is as enough nodes say, where there are several.
    Source: contract 3 ("chain time decides on chain"), chain.md ("quorum for marks and
    settlement").
    """
    if chain.confirmations == 0 or chain.asks_several:
        return vault
    at = min(max(vault.block.at, now - TOLERANCE), now + TOLERANCE)
    return replace(vault, block=replace(vault.block, at=at))


async def newest(deps: Deps, chain: Chain, mandate: Mandate) -> VaultState:
    """The newest state of a vault by a majority of nodes: a transaction of the keeper's own may be
    in the newest block.
    """
    at = mandate.vault_address or ""
    vault = (await chain.vault_states([at], agreed=True))[at]
    return with_trusted_time(chain, vault, deps.clock.now())
