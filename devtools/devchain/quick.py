"""The commonest instructions of the EVM in fewer steps of Python than py-evm takes for them.

Seven of eight instructions that Solidity's code runs only move words about. py-evm takes three to
nine calls of Python for each; here it is one or two. What is not here, is py-evm's own.
Source: py-evm's `eth.vm.logic`, whose results, gas and errors these give; the tests run both beside
each other.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import lru_cache
from typing import Any, ClassVar, Final

from eth import constants
from eth.exceptions import (
    FullStack,
    InsufficientStack,
    InvalidInstruction,
    InvalidJumpDestination,
    OutOfGas,
)
from eth.vm import opcode_values as op
from eth.vm.forks.prague import PragueVM

from devtools.devchain.state import Accounting

_State = PragueVM.get_state_class()
_Computation = _State.computation_class
_Run = Callable[[Any], None]
_WORD: Final = 32
_MOST: Final = 1024
_MASK: Final = constants.UINT_256_MAX


def _paid(computation: Any, cost: int) -> list[int | bytes]:
    """The words of the stack, once the instruction is paid for."""
    meter = computation._gas_meter
    if cost > meter.gas_remaining:
        raise OutOfGas(f"Needed {cost}, remaining {meter.gas_remaining}")
    meter.gas_remaining -= cost
    words: list[int | bytes] = computation._stack.values
    return words


def _popped(words: list[int | bytes]) -> int:
    try:
        word = words.pop()
    except IndexError:
        raise InsufficientStack("Wanted 1 stack item, had none") from None
    return int.from_bytes(word, "big") if word.__class__ is bytes else word  # type: ignore[return-value]


def _push(size: int) -> _Run:
    def run(computation: Any) -> None:
        words = _paid(computation, constants.GAS_VERYLOW)
        code = computation.code
        start = code.program_counter
        code.program_counter = end = start + size
        if len(words) >= _MOST:
            raise FullStack("Stack limit reached")
        pushed = code._raw_code_bytes[start:end]
        if len(pushed) != size:  # the code ends here
            pushed = pushed.ljust(size, b"\0")
        words.append(int.from_bytes(pushed, "big"))

    return run


def _dup(position: int) -> _Run:
    def run(computation: Any) -> None:
        words = _paid(computation, constants.GAS_VERYLOW)
        if len(words) >= _MOST:
            raise FullStack("Stack limit reached")
        if len(words) < position:
            raise InsufficientStack(f"Insufficient stack items for DUP{position}")
        words.append(words[-position])

    return run


def _swap(position: int) -> _Run:
    other = -position - 1

    def run(computation: Any) -> None:
        words = _paid(computation, constants.GAS_VERYLOW)
        if len(words) <= position:
            raise InsufficientStack(f"Insufficient stack items for SWAP{position}")
        words[-1], words[other] = words[other], words[-1]

    return run


def _of_two(cost: int, result: Callable[[int, int], int]) -> _Run:
    """An instruction that makes one word of two."""

    def run(computation: Any) -> None:
        words = _paid(computation, cost)
        first = _popped(words)
        words.append(int(result(first, _popped(words))))

    return run


def _is_zero(computation: Any) -> None:
    words = _paid(computation, constants.GAS_VERYLOW)
    words.append(int(_popped(words) == 0))


def _pop(computation: Any) -> None:
    words = _paid(computation, constants.GAS_BASE)
    if not words:
        raise InsufficientStack("Wanted 1 stack item, had none")
    words.pop()


def _jump_destination(computation: Any) -> None:
    _paid(computation, constants.GAS_JUMPDEST)


def _jump(computation: Any) -> None:
    _go(computation.code, _popped(_paid(computation, constants.GAS_MID)))


def _jump_if(computation: Any) -> None:
    words = _paid(computation, constants.GAS_HIGH)
    to = _popped(words)
    if _popped(words):
        _go(computation.code, to)


def _go(code: Any, to: int) -> None:
    code.program_counter = to
    if code.peek() != op.JUMPDEST:
        raise InvalidJumpDestination("Invalid Jump Destination")
    if to not in code.valid_positions:
        code.valid_positions, code.invalid_positions = _positions(code._raw_code_bytes)
        if not code.is_valid_opcode(to):
            raise InvalidInstruction("Jump resulted in invalid instruction")


@lru_cache(maxsize=256)
def _positions(_: bytes) -> tuple[set[int], set[int]]:
    """The places of a code at which instructions are known to begin, and not to; every run of it
    adds to them.
    """
    return set(), set()


def _store(computation: Any) -> None:
    words = _paid(computation, constants.GAS_VERYLOW)
    at, word = _popped(words), _popped(words)
    memory = _reaching(computation, at)
    memory[at : at + _WORD] = word.to_bytes(_WORD, "big")


def _load(computation: Any) -> None:
    words = _paid(computation, constants.GAS_VERYLOW)
    at = _popped(words)
    memory = _reaching(computation, at)
    words.append(int.from_bytes(memory[at : at + _WORD], "big"))


def _reaching(computation: Any, at: int) -> bytearray:
    """The memory, which has a word there."""
    if at + _WORD > len(computation._memory._bytes):
        computation.extend_memory(at, _WORD)
    memory: bytearray = computation._memory._bytes
    return memory


_OPCODES: Final[dict[int, _Run]] = {
    **{op.PUSH1 + n: _push(n + 1) for n in range(32)},
    **{op.DUP1 + n: _dup(n + 1) for n in range(16)},
    **{op.SWAP1 + n: _swap(n + 1) for n in range(16)},
    op.ADD: _of_two(constants.GAS_VERYLOW, lambda a, b: (a + b) & _MASK),
    op.SUB: _of_two(constants.GAS_VERYLOW, lambda a, b: (a - b) & _MASK),
    op.MUL: _of_two(constants.GAS_LOW, lambda a, b: (a * b) & _MASK),
    op.AND: _of_two(constants.GAS_VERYLOW, operator.and_),
    op.OR: _of_two(constants.GAS_VERYLOW, operator.or_),
    op.EQ: _of_two(constants.GAS_VERYLOW, operator.eq),
    op.LT: _of_two(constants.GAS_VERYLOW, operator.lt),
    op.GT: _of_two(constants.GAS_VERYLOW, operator.gt),
    op.SHL: _of_two(constants.GAS_VERYLOW, lambda by, a: (a << by) & _MASK if by < 256 else 0),
    op.SHR: _of_two(constants.GAS_VERYLOW, lambda by, a: a >> by if by < 256 else 0),
    op.ISZERO: _is_zero,
    op.POP: _pop,
    op.JUMP: _jump,
    op.JUMPI: _jump_if,
    op.JUMPDEST: _jump_destination,
    op.MSTORE: _store,
    op.MLOAD: _load,
}


class QuickComputation(_Computation):  # type: ignore[misc, valid-type]
    """One run of code."""

    opcodes: ClassVar[dict[int, _Run]] = {**_Computation.opcodes, **_OPCODES}


class QuickState(_State):  # type: ignore[misc, valid-type]
    """The state of a block under the Prague rules."""

    computation_class = QuickComputation
    account_db_class = Accounting
