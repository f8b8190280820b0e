"""A node's log is read once, where it comes in: whatever is not one is nonsense there."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from chain import answers

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
    assert answers.log(TOLD) == answers.Log(
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
    with pytest.raises(answers.NONSENSE):
        answers.log({**TOLD, name: value})
    with pytest.raises(answers.NONSENSE):
        answers.log({n: v for n, v in TOLD.items() if n != name})


@pytest.mark.parametrize("told", [None, 7, "logs", {"0": TOLD}, [None], [[TOLD]], [7]])
def test_what_is_no_list_of_logs_is_nonsense(told: object) -> None:
    with pytest.raises(answers.NONSENSE):
        answers.logs(told)


def test_a_log_that_was_taken_back_is_none() -> None:
    assert answers.logs([{**TOLD, "removed": True}, TOLD]) == [answers.log(TOLD)]
