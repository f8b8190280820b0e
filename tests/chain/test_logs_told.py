"""A node's log is read once, where it comes in: whatever is not one is nonsense there."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from chain.logs.log_reader import BlockRange, ReadCursor
from chain.rpc import decoding
from domain.chain_facts import BlockStamp, VaultLog

AT, VAULT = datetime(2026, 11, 20, tzinfo=UTC), "0x" + "Ab" * 20
TOLD: Mapping[str, object] = {
    "address": "0x" + "Ab" * 20,
    "topics": ["0x" + "01" * 32, "0x" + "02" * 32],
    "data": "0x0A",
    "blockNumber": "0x10",
    "blockHash": "0x" + "CD" * 32,
    "transactionHash": "0x" + "EF" * 32,
    "logIndex": "0x2",
    "removed": False,
}


def test_a_log_is_read_with_its_hashes_in_lower_case() -> None:
    assert decoding.log(TOLD) == decoding.Log(
        address="0x" + "Ab" * 20,
        topics=(b"\x01" * 32, b"\x02" * 32),
        data=b"\x0a",
        block=16,
        block_hash="0x" + "cd" * 32,
        tx_hash="0x" + "ef" * 32,
        index=2,
    )


@pytest.mark.parametrize("name", [n for n in TOLD if n != "removed"])
@pytest.mark.parametrize("value", [None, 7, {}, "zz", ["zz"]])
def test_a_log_with_a_field_of_another_form_is_nonsense(name: str, value: object) -> None:
    if name == "address" and value == "zz":  # who decodes it makes an address of it
        return
    with pytest.raises(decoding.NONSENSE):
        decoding.log({**TOLD, name: value})
    with pytest.raises(decoding.NONSENSE):
        decoding.log({n: v for n, v in TOLD.items() if n != name})


@pytest.mark.parametrize("told", [None, 7, "logs", {"0": TOLD}, [None], [[TOLD]], [7]])
def test_what_is_no_list_of_logs_is_nonsense(told: object) -> None:
    with pytest.raises(decoding.NONSENSE):
        decoding.logs(told)


def test_a_log_that_was_taken_back_is_none() -> None:
    assert decoding.logs([{**TOLD, "removed": True}, TOLD]) == [decoding.log(TOLD)]


def read_of(numbers: list[int], *, since: int, end: int) -> BlockRange:
    """A history with a log in each of these blocks."""
    stamps = {n: BlockStamp(n, f"0x{n:064x}", AT) for n in {*numbers, end}}
    logs = [
        VaultLog("Stopped", VAULT, None, {}, "0x1", k, stamps[n]) for k, n in enumerate(numbers)
    ]
    blocks = tuple(stamps[n] for n in sorted(stamps))
    before, last = ReadCursor(since, "0x0"), ReadCursor(end, stamps[end].hash)
    return BlockRange(tuple(logs), blocks, before, last, stamps[end])


@pytest.mark.parametrize(
    ("numbers", "most", "parts"),
    [
        ([3, 5, 7], 3, [9]),
        ([3, 5, 7], 2, [5, 9]),
        ([3, 5, 5, 7], 2, [3, 5, 9]),
        ([5, 5, 5], 2, [5, 9]),
        ([9, 9, 9], 2, [9]),
        ([5, 5, 5, 9, 9], 1, [5, 9]),
        ([], 1, [9]),
    ],
)
def test_what_was_read_is_parted_between_blocks(
    numbers: list[int], most: int, parts: list[int]
) -> None:
    whole = read_of(numbers, since=2, end=9)
    left: BlockRange | None = whole
    found: list[BlockRange] = []
    while left is not None:
        part, left = left.split_at(most)
        found.append(part)
    assert [p.cursor.block for p in found] == parts
    assert [p.cursor.hash for p in found] == [f"0x{n:064x}" for n in parts]
    assert [p.since for p in found] == [whole.since, *(p.cursor for p in found[:-1])]
    assert [g for p in found for g in p.logs] == [*whole.logs]
    assert [b for p in found for b in p.blocks] == [*whole.blocks]
    assert all(p.since.block < g.block.number <= p.cursor.block for p in found for g in p.logs)
    assert {p.head for p in found} == {whole.head}
