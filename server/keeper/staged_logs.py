"""Staged logs: the stored form of logs until their blocks are deep enough."""

from __future__ import annotations

from datetime import datetime

from domain.chain_facts import BlockStamp, VaultLog
from domain.times import timestamp
from storage.repositories.chain_index import Staged


def staged(g: VaultLog) -> Staged:
    """A log as it waits until its block is deep enough."""
    body = {
        "name": g.name,
        "address": g.address,
        "mandate": g.mandate,
        "args": dict(g.args),
        "at": timestamp(g.block.at),
    }
    return Staged(g.block.number, g.block.hash, g.tx_hash, g.log_index, g.address, body)


def log_of(s: Staged) -> VaultLog:
    """The log that waited."""
    b = s.body
    stamp = BlockStamp(s.block_number, s.block_hash, datetime.fromisoformat(b["at"]))
    return VaultLog(b["name"], b["address"], b["mandate"], b["args"], s.tx_hash, s.log_index, stamp)
