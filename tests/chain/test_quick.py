"""The development chain's own instructions and accounts give what py-evm's give: words, memory, gas, errors and what is
kept.
"""

from __future__ import annotations

from typing import Any

import pytest
from eth._utils.address import generate_contract_address, generate_safe_contract_address
from eth.constants import BLANK_ROOT_HASH
from eth.db.atomic import AtomicDB
from eth.vm import opcode_values as op
from eth.vm.execution_context import ExecutionContext
from eth.vm.forks.prague import PragueVM
from eth.vm.spoof import SpoofTransaction
from eth_typing import Address
from hypothesis import example, given, settings
from hypothesis import strategies as st

from devtools.devchain.blocks import BASE_FEE, GAS_LIMIT
from devtools.devchain.quick import _OPCODES, QuickState
from devtools.devchain.state import EMPTY_ROOT, no_accounts

HERE, SENDER = Address(b"\x77" * 20), Address(b"\x11" * 20)
EMPTY: dict[Any, tuple[Any, bytes]] = {
    QuickState: (no_accounts, EMPTY_ROOT),
    PragueVM.get_state_class(): (AtomicDB, BLANK_ROOT_HASH),
}
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


def opened(state_class: Any, states: Any, root: bytes) -> Any:
    context = ExecutionContext(HERE, 1, 1, 0, b"\0" * 32, GAS_LIMIT, (), 31337, BASE_FEE, 0)  # type: ignore[arg-type]
    state = state_class(states, context, root)
    state.execution_context._base_fee_per_gas = 0
    return state


def run(state: Any, gas: int, data: bytes = b"\0\1\2") -> Any:
    made = PragueVM.get_transaction_builder().create_unsigned_transaction(
        nonce=state.get_nonce(SENDER), gas_price=0, gas=gas, to=HERE, value=0, data=data
    )
    return state.apply_transaction(SpoofTransaction(made, from_=SENDER))


def outcome(state_class: Any, code: bytes, gas: int) -> tuple[object, ...]:
    """How a program ends: whether and how it fails, the gas left, the words, the memory and the output."""
    empty, root = EMPTY[state_class]
    state = opened(state_class, empty(), root)
    state.set_code(HERE, code)
    done = run(state, gas)
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


# What a program may do to accounts: words for it are pushed before, so that the few slots and addresses come again and again.
SLOTS = st.integers(0, 2)
OTHERS = [HERE, SENDER, b"\x55" * 20, b"\0" * 19 + b"\4"]
ADDRESSES = st.sampled_from([int.from_bytes(a, "big") for a in OTHERS])
# The code of a contract that is made: it writes a slot and is left empty, or it destroys itself.
MADE = st.sampled_from([push(7) + push(1) + bytes([op.SSTORE]), push(5) + bytes([op.SELFDESTRUCT])])


def doing(what: int, *words: int) -> bytes:
    return b"".join(map(push, reversed(words))) + bytes([what])


def making(code: bytes, value: int, salt: int | None) -> bytes:
    stored = doing(op.MSTORE, 0, int.from_bytes(code.ljust(32, b"\0"), "big"))
    if salt is None:
        return stored + doing(op.CREATE, value, 0, len(code))
    return stored + doing(op.CREATE2, value, 0, len(code), salt)


DEEDS = st.one_of(
    st.builds(lambda slot, word: doing(op.SSTORE, slot, word), SLOTS, st.integers(0, 2)),
    st.builds(lambda slot, word: doing(op.TSTORE, slot, word), SLOTS, st.integers(0, 2)),
    st.builds(lambda slot, to: doing(op.SLOAD, slot) + push(to) + bytes([op.SSTORE]), SLOTS, SLOTS),
    st.builds(lambda slot, to: doing(op.TLOAD, slot) + push(to) + bytes([op.SSTORE]), SLOTS, SLOTS),
    st.builds(
        lambda what, who, to: doing(what, who) + push(to) + bytes([op.SSTORE]),
        st.sampled_from([op.BALANCE, op.EXTCODEHASH, op.EXTCODESIZE]), ADDRESSES, SLOTS,
    ),
    st.builds(
        lambda who, value, gas: doing(op.CALL, gas, who, value, 0, 1, 0, 0),
        ADDRESSES, st.integers(0, 2), st.sampled_from([0, 5_000, 60_000]),
    ),
    st.builds(lambda who, gas: doing(op.DELEGATECALL, gas, who, 0, 1, 0, 0), ADDRESSES, st.just(60_000)),
    st.builds(making, MADE, st.integers(0, 1), st.one_of(st.none(), st.integers(0, 1))),
    st.sampled_from([doing(op.REVERT, 0, 0), doing(op.SELFDESTRUCT, 5), bytes([op.STOP])]),
)  # fmt: skip


def kept(state_class: Any, code: bytes, runs: int) -> list[object]:
    """What transactions to a program leave, each in a block of its own, and what each said of itself."""
    states, root = EMPTY[state_class][0](), EMPTY[state_class][1]
    state = opened(state_class, states, root)
    state.set_code(HERE, code)
    state.set_balance(HERE, 5)
    told: list[object] = []
    for _ in range(runs):
        state.persist()
        root = state.state_root
        done = run(state := opened(state_class, states, root), 400_000)
        told += [
            type(done._error).__name__,
            done.get_gas_remaining(),
            done.get_gas_refund(),
            done.output,
        ]
        told += [accounts(state)]
        again = opened(state_class, states, root)  # what the state before said, it says still
        told += [accounts(again)]
    return told


def accounts(state: Any) -> list[object]:
    from_here = [generate_contract_address(HERE, n) for n in range(4)]
    salted = [
        generate_safe_contract_address(HERE, salt, code)
        for salt in (0, 1) for code in (push(7) + push(1) + bytes([op.SSTORE]), push(5) + bytes([op.SELFDESTRUCT]))
    ]  # fmt: skip
    return [
        (
            state.account_exists(a), state.get_balance(a), state.get_nonce(a), state.get_code(a), state.get_code_hash(a),
            [state.get_storage(a, slot) for slot in range(3)],
        )
        for a in [*OTHERS, Address(b"\0" * 19 + b"\5"), *from_here, *salted]
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:SELFDESTRUCT")
@settings(max_examples=100)
@given(deeds=st.lists(DEEDS, min_size=1, max_size=9), runs=st.integers(1, 3))
def test_transactions_leave_what_they_leave_under_py_evm(deeds: list[bytes], runs: int) -> None:
    code = b"".join(deeds)
    assert kept(QuickState, code, runs) == kept(PragueVM.get_state_class(), code, runs)
