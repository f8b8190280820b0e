"""Where a mandate stands by the newest block that was read."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from domain.chain_facts import BlockStamp, StagedLog, VaultState
from domain.mandates.mandate import Status
from domain.rules.status_derivation import apply_newest_block
from tests.domain.material import START, mandate

NOW = START + timedelta(hours=2)


def log(name: str, block: int) -> StagedLog:
    at = NOW + timedelta(seconds=block)
    return StagedLog(
        name=name, address="0x1", mandate=None, args={}, at=at, block=block, tx_hash=f"0x{block}"
    )


def vault(block: int, **more: Any) -> VaultState:
    stamp = BlockStamp(block, f"0x{block}", NOW + timedelta(seconds=block))
    return VaultState("0x1", stamp, **({"exists": True} | more))


@pytest.mark.parametrize(
    ("state", "logs", "paused", "status", "provisional"),
    [
        (None, (), False, "working", False),
        (None, (log("AgentRevoked", 5),), True, "working", True),
        (None, (log("AgentRevoked", 5), log("AgentSet", 6)), False, "working", False),
        (None, (log("Stopped", 5), log("AgentRevoked", 5)), False, "stopped", True),
        (None, (log("Settled", 5),), False, "settled", True),
        (vault(7), (log("AgentRevoked", 5),), False, "working", False),
        (vault(7, paused=True), (), True, "working", True),
        (vault(4), (log("AgentRevoked", 5),), True, "working", True),
        (vault(7, stopped=True), (log("Stopped", 5),), False, "stopped", True),
        (vault(7, stopped=True, settled=True), (), False, "settled", True),
        (vault(7, exists=False, paused=True), (), False, "working", False),
    ],
)
def test_the_newest_block_that_was_read_decides(
    state: VaultState | None,
    logs: tuple[StagedLog, ...],
    paused: bool,
    status: str,
    provisional: bool,
) -> None:
    told = apply_newest_block(mandate(), state, logs)
    assert (told.paused, told.status.value, told.provisional) == (paused, status, provisional)


def test_the_time_of_a_provisional_pause_is_its_logs_else_the_blocks() -> None:
    coming = (log("AgentRevoked", 5),)
    assert apply_newest_block(mandate(), vault(7, paused=True), coming).paused_at == coming[0].at
    assert apply_newest_block(mandate(), vault(7, paused=True), ()).paused_at == NOW + timedelta(
        seconds=7
    )


def test_a_resume_that_is_not_deep_yet_lifts_the_pause_and_says_so() -> None:
    told = apply_newest_block(mandate(paused_at=START), vault(7), ())
    assert (told.paused, told.paused_at, told.provisional) == (False, None, True)


def test_what_only_the_record_stopped_stays_stopped() -> None:
    m = mandate(status=Status.STOPPED, stopped_at=START)
    assert apply_newest_block(m, vault(7), ()) == m
    draft = mandate(status=Status.DRAFT)
    assert apply_newest_block(draft, vault(7, paused=True), ()) == draft
