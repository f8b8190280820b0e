"""The development chain's own instructions give what py-evm's give: words, memory, gas and errors."""

from __future__ import annotations

from typing import Any

import pytest
from eth.db.atomic import AtomicDB
from eth.vm import opcode_values as op
from eth.vm.execution_context import ExecutionContext
from eth.vm.forks.prague import PragueVM
from eth.vm.spoof import SpoofTransaction
from hypothesis import example, given, settings
from hypothesis import strategies as st

from devtools.devchain.blocks import BASE_FEE, GAS_LIMIT
from devtools.devchain.core import EMPTY_ROOT
from devtools.devchain.quick import _OPCODES, QuickState

HERE = b"\x77" * 20
WORDS = st.one_of(
    st.integers(0, 96),
    st.sampled_from([0, 1, 255, 256, 2**255, 2**256 - 1]),
    st.integers(0, 2**256 - 1),
)


def push(word: int) -> bytes:
    """The shortest push of a word."""
    size = max(1, (word.bit_length() + 7) // 8)
    return bytes([op.PUSH1 + size - 1]) + word.to_bytes(size, "big")


# What is ours, some of py-evm's own beside it, and words to work on; at the end anything at all.
INSTRUCTIONS = st.one_of(
    WORDS.map(push),
    st.sampled_from(sorted(_OPCODES)).map(lambda one: bytes([one])),
    st.sampled_from([op.DIV, op.NOT, op.SLT, op.MSIZE, op.GAS, op.PC, op.MSTORE8, op.PUSH0]).map(
        lambda one: bytes([one])
    ),
)
PROGRAMS = st.builds(
    lambda words, parts, rest: b"".join([*map(push, words), *parts, rest]),
    st.lists(WORDS, max_size=18),
    st.lists(INSTRUCTIONS, max_size=40),
    st.binary(max_size=12),
)


def outcome(state_class: Any, code: bytes, gas: int) -> tuple[object, ...]:
    """How a program ends: whether and how it fails, the gas left, the words, the memory and the output."""
    context = ExecutionContext(HERE, 1, 1, 0, b"\0" * 32, GAS_LIMIT, (), 31337, BASE_FEE, 0)  # type: ignore[arg-type]
    state = state_class(AtomicDB(), context, EMPTY_ROOT)
    state.set_code(HERE, code)
    state.execution_context._base_fee_per_gas = 0
    made = PragueVM.get_transaction_builder().create_unsigned_transaction(
        nonce=0, gas_price=0, gas=gas, to=HERE, value=0, data=b"\0\1\2"
    )  # type: ignore[arg-type]
    done = state.apply_transaction(SpoofTransaction(made, from_=b"\x11" * 20))  # type: ignore[arg-type]
    failed = type(done.error).__name__ if done.is_error else None
    words = [int.from_bytes(w, "big") if isinstance(w, bytes) else w for w in done._stack.values]
    # What a failed run leaves is thrown away; where in an instruction it stopped is nobody's matter.
    left = () if failed else (words, bytes(done._memory._bytes))
    return failed, done.get_gas_remaining(), done.output, left


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:SELFDESTRUCT")  # the end of a program is anything at all
@settings(max_examples=150)
@given(code=PROGRAMS, gas=st.one_of(st.just(100_000), st.integers(21_100, 21_300)))
@example(
    code=bytes([op.PUSH1, 4, op.JUMP, op.PUSH1, op.JUMPDEST]), gas=100_000
)  # into a push's data
@example(
    code=bytes([op.PUSH1, 3, op.JUMP, op.JUMPDEST, op.PUSH2, 1]), gas=100_000
)  # ends in a push
@example(code=bytes([op.JUMPDEST, op.PUSH1, 0, op.DUP1, op.JUMP]), gas=100_000)  # fills the stack
def test_a_program_ends_as_under_py_evm(code: bytes, gas: int) -> None:
    assert outcome(QuickState, code, gas) == outcome(PragueVM.get_state_class(), code, gas)


@pytest.mark.parametrize("one", sorted(_OPCODES), ids=hex)
def test_an_instruction_of_ours_does_what_it_does_under_py_evm(one: int) -> None:
    for words, gas in (
        ((7,), 100_000),
        ((2**256 - 1, 2**255, 1), 100_000),
        (range(1, 18), 100_000),
        ((3, 5), 21_000 + 36 + 2 * 3 + 2),  # the transaction, its data, two pushes: little is left
    ):
        code = b"".join(map(push, words)) + bytes([one]) + b"\x5b\x01"
        ends = [outcome(kind, code, gas) for kind in (QuickState, PragueVM.get_state_class())]
        assert ends[0] == ends[1], (words, gas)
