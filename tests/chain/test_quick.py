"""The development chain's own instructions give what py-evm's give: words, memory, gas and errors."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest
from eth.db.account import AccountDB
from eth.db.atomic import AtomicDB
from eth.vm import opcode_values as op
from eth.vm.execution_context import ExecutionContext
from eth.vm.forks.prague import PragueVM
from eth.vm.spoof import SpoofTransaction
from hypothesis import example, given, settings
from hypothesis import strategies as st

from devtools.devchain import stretches
from devtools.devchain.blocks import BASE_FEE, GAS_LIMIT
from devtools.devchain.core import EMPTY_ROOT
from devtools.devchain.known_state import KnownAccounts
from devtools.devchain.quick import _OPCODES, QuickState

HERE, THERE = b"\x77" * 20, b"\x78" * 20
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
    st.sampled_from(
        [op.DIV, op.NOT, op.XOR, op.ADDRESS, op.SLT, op.MSIZE, op.GAS, op.PC, op.MSTORE8, op.PUSH0]
    ).map(lambda one: bytes([one])),
)
PROGRAMS = st.builds(
    lambda words, parts, rest: b"".join([*map(push, words), *parts, rest]),
    st.lists(WORDS, max_size=18),
    st.lists(INSTRUCTIONS, max_size=40),
    st.binary(max_size=12),
)


# Counts down from 200, and writes each number behind the one before it; words lie below that are left alone.
LOOP = (
    push(7) + push(200) + bytes([op.JUMPDEST]) + push(1)
    + bytes([op.SWAP1, op.SUB, op.DUP1, op.DUP1, op.NOT, op.SWAP1]) + push(5)
    + bytes([op.SHL, op.MSTORE, op.DUP1]) + push(4) + bytes([op.JUMPI, op.MSIZE])
)  # fmt: skip


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
@example(code=LOOP, gas=100_000)  # two hundred rounds, which become a stretch on the way
@example(code=LOOP, gas=30_000)  # and end without gas
@example(code=bytes([op.JUMPDEST, op.PUSH1, 0, op.DUP1, op.JUMP]), gas=100_000)  # fills the stack
def test_a_program_ends_as_under_py_evm(code: bytes, gas: int) -> None:
    ends = outcome(PragueVM.get_state_class(), code, gas)
    assert outcome(QuickState, code, gas) == ends
    with patch.object(stretches, "OFTEN", 0):
        assert outcome(QuickState, code, gas) == ends


def parts(*told: int | bytes) -> bytes:
    """A program of instructions and of pushes."""
    return b"".join(one if isinstance(one, bytes) else bytes([one]) for one in told)


@pytest.mark.parametrize(
    "code",
    [
        parts(push(1), push(2), push(3), op.MSIZE, op.DUP3, op.DUP3, op.ADD, op.MSIZE),
        # Eleven hundred rounds, each of which leaves a word: at the last but seventy-six the stack is full.
        parts(push(1_100), op.JUMPDEST, push(1), op.SWAP1, op.SUB, op.DUP1, op.DUP1, push(3), op.JUMPI),
        parts(op.ADDRESS, push(5), op.ADD, op.ADDRESS, op.ADDRESS, op.EQ, op.ADDRESS, push(0), op.MSTORE),
        # To where only the run knows: into the number of a push, to no destination, and to one.
        parts(push(0), op.MLOAD, push(8), op.ADD, op.JUMP, op.PUSH1, op.JUMPDEST),
        parts(push(0), op.MLOAD, push(7), op.ADD, op.JUMP, op.POP),
        parts(push(0), op.MLOAD, push(7), op.ADD, op.JUMP, op.JUMPDEST, push(3)),
    ],
    ids=["words below", "a full stack", "bytes", "a number", "no destination", "a destination"],
)  # fmt: skip
def test_a_stretch_ends_as_its_instructions_do(code: bytes) -> None:
    ends = outcome(PragueVM.get_state_class(), code, 100_000)
    with patch.object(stretches, "OFTEN", 0):
        assert outcome(QuickState, code, 100_000) == ends


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
        with patch.object(stretches, "OFTEN", 0):
            assert outcome(QuickState, code, gas) == ends[1], (words, gas)


def test_an_account_is_as_under_py_evm_under_each_root_of_its_state() -> None:
    databases = AtomicDB(), AtomicDB()
    ours, theirs = KnownAccounts(databases[0], EMPTY_ROOT), AccountDB(databases[1], EMPTY_ROOT)
    roots = [EMPTY_ROOT]
    for change in (
        lambda accounts: accounts.set_balance(HERE, 5),
        lambda accounts: accounts.set_storage(HERE, 1, 7),
        lambda accounts: accounts.set_balance(THERE, 6),
        lambda accounts: accounts.set_balance(HERE, 8),
        lambda accounts: accounts.delete_account(THERE),
        lambda accounts: accounts.set_balance(HERE, 5),
    ):
        for accounts in (ours, theirs):
            assert accounts.get_balance(HERE) >= 0  # it is known before it changes
            change(accounts)
            accounts.make_state_root()
            accounts.persist()
        assert ours.state_root == theirs.state_root
        roots.append(ours.state_root)
        assert told(ours) == told(theirs)
    for root in [*roots, *reversed(roots)]:
        assert told(KnownAccounts(databases[0], root)) == told(AccountDB(databases[1], root))
        theirs.state_root = ours.state_root = root
        assert told(ours) == told(theirs)


def told(accounts: AccountDB) -> list[int | bytes]:
    """Both accounts, as far as the test changes them."""
    balances = [accounts.get_balance(one) for one in (HERE, THERE)]
    exist = [accounts.account_exists(one) for one in (HERE, THERE)]
    return [*balances, *exist, accounts.get_storage(HERE, 1), accounts.state_root]
