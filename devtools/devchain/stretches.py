"""Stretches of EVM code as functions of Python: what runs often is compiled.

A stretch is a run of instructions that only move words about, up to a jump or to whatever asks the
state. Its function keeps the words in local variables, pays for all of it at once, and touches the
stack at its end. Where the gas or the room on the stack would not do for the whole of it, the
frame goes on one instruction at a time, and fails where it has to.
Source: as `devtools.devchain.quick`; the tests run py-evm beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final, TypeAlias

from eth import constants
from eth.exceptions import InvalidInstruction, InvalidJumpDestination, OutOfGas
from eth.vm import opcode_values as op
from eth.vm.code_stream import CodeStream
from eth.vm.computation import memory_gas_cost

# A function costs as much to make as some dozens of runs without it.
OFTEN: Final = 32
_LONGEST: Final = 200  # instructions
_MOST: Final = 1024
_WORD: Final = 32
_MASK: Final = hex(constants.UINT_256_MAX)
_LOW, _VERY_LOW = constants.GAS_LOW, constants.GAS_VERYLOW

Operand: TypeAlias = "int | str"
"""A word: known while compiling, or the name of the variable that has it."""
Stretch: TypeAlias = tuple[Callable[[Any, Any, Any], int], int, int, int]
"""What runs it and gives where to go on; its gas; the fewest and the most words there may be."""

# Of the first word {0} and the second {1}: what it costs, and what it makes of them.
_OF_TWO: Final[dict[int, tuple[int, str]]] = {
    op.ADD: (_VERY_LOW, f"({{0}} + {{1}}) & {_MASK}"),
    op.SUB: (_VERY_LOW, f"({{0}} - {{1}}) & {_MASK}"),
    op.MUL: (_LOW, f"({{0}} * {{1}}) & {_MASK}"),
    op.DIV: (_LOW, "{0} // {1} if {1} else 0"),
    op.AND: (_VERY_LOW, "{0} & {1}"),
    op.OR: (_VERY_LOW, "{0} | {1}"),
    op.XOR: (_VERY_LOW, "{0} ^ {1}"),
    op.EQ: (_VERY_LOW, "1 if {0} == {1} else 0"),
    op.LT: (_VERY_LOW, "1 if {0} < {1} else 0"),
    op.GT: (_VERY_LOW, "1 if {0} > {1} else 0"),
    op.SHL: (_VERY_LOW, f"({{1}} << {{0}}) & {_MASK} if {{0}} < 256 else 0"),
    op.SHR: (_VERY_LOW, "{1} >> {0} if {0} < 256 else 0"),
}
_OF_ONE: Final[dict[int, tuple[int, str]]] = {
    op.ISZERO: (_VERY_LOW, "0 if {0} else 1"),
    op.NOT: (_VERY_LOW, f"{_MASK} ^ {{0}}"),
}


class _Writer:
    """Writes the function of one stretch, instruction by instruction."""

    def __init__(self, code: bytes, start: int, destinations: frozenset[int]):
        self._code, self._destinations = code, destinations
        self.at = start
        self.gas, self.taken, self.grown, self.length = 0, 0, 0, 0
        self._words: list[Operand] = []  # those above what is left of the stack
        self._lines: list[str] = []
        self._names = 0
        self._numbers: dict[str, str] = {}  # variables, and those that have them as numbers
        self._ended = False

    def source(self) -> str:
        """The function's text; it has come as far as `at`."""
        while not self._ended and self.length < _LONGEST and self._add():
            self.length += 1
            self.grown = max(self.grown, len(self._words) - self.taken)
        if not self._ended:
            self._lines += [*self._left(), f"return {self.at}"]
        head = ["def stretch(w, memory, meter):", "b = memory._bytes"]
        return "\n    ".join([*head, *self._lines])

    def _add(self) -> bool:
        """Write an instruction; False where it ends the stretch before it."""
        code = self._code[self.at] if self.at < len(self._code) else op.STOP
        if code in _OF_TWO:
            self._word(*_OF_TWO[code], 2)
        elif code in _OF_ONE:
            self._word(*_OF_ONE[code], 1)
        elif code == op.JUMPDEST:
            self._paid(constants.GAS_JUMPDEST)
        elif code in (op.MSTORE, op.MLOAD):
            self._memory(code)
        elif code in (op.JUMP, op.JUMPI):
            return self._jump(code)
        else:
            return self._move(code)
        return True

    def _move(self, code: int) -> bool:
        words = self._words
        if op.PUSH0 <= code <= op.PUSH32:
            size, start = code - op.PUSH0, self.at + 1
            if start + size > len(self._code):
                return False
            words.append(int.from_bytes(self._code[start : start + size], "big"))
            self._paid(_VERY_LOW if size else constants.GAS_BASE, size)
        elif op.DUP1 <= code <= op.DUP16:
            self._reach(code - op.DUP1 + 1)
            words.append(words[op.DUP1 - code - 1])
            self._paid(_VERY_LOW)
        elif op.SWAP1 <= code <= op.SWAP16:
            other = op.SWAP1 - code - 2
            self._reach(-other)
            words[-1], words[other] = words[other], words[-1]
            self._paid(_VERY_LOW)
        elif code == op.POP:
            self._reach(1)
            words.pop()
            self._paid(constants.GAS_BASE)
        else:
            return False
        return True

    def _paid(self, gas: int, more: int = 0) -> None:
        self.gas += gas
        self.at += 1 + more

    def _reach(self, depth: int) -> None:
        """Have so many words in variables."""
        while len(self._words) < depth:
            self.taken += 1
            self._lines.append(f"s{self.taken} = w[-{self.taken}]")
            self._words.insert(0, f"s{self.taken}")

    def _number(self) -> Operand:
        """The first word as a number: py-evm's instructions leave bytes, too."""
        self._reach(1)
        word = self._words.pop()
        if isinstance(word, int):
            return word
        if word not in self._numbers:
            self._numbers[word] = self._named(
                f"int.from_bytes({word}, 'big') if {word}.__class__ is bytes else {word}"
            )
        return self._numbers[word]

    def _named(self, expression: str) -> str:
        self._names += 1
        name = f"n{self._names}"
        self._lines.append(f"{name} = {expression}")
        self._numbers[name] = name
        return name

    def _word(self, gas: int, form: str, words: int) -> None:
        of = [self._number() for _ in range(words)]
        made = form.format(*of)
        is_known = all(isinstance(word, int) for word in of)
        self._words.append(int(eval(made)) if is_known else self._named(made))  # noqa: S307
        self._paid(gas)

    def _memory(self, code: int) -> None:
        at = self._number()
        end = at + _WORD if isinstance(at, int) else f"{at} + {_WORD}"
        if code == op.MSTORE:
            word = self._number()
            stored = f"({word}).to_bytes({_WORD}, 'big')"
        self._lines.append(f"if len(b) < {end}: b = reaching(memory, meter, {at})")
        if code == op.MSTORE:
            self._lines.append(f"b[{at}:{end}] = {stored}")
        else:
            self._words.append(self._named(f"int.from_bytes(b[{at}:{end}], 'big')"))
        self._paid(_VERY_LOW)

    def _jump(self, code: int) -> bool:
        self._reach(1)
        target = self._words[-1]
        if isinstance(target, int) and target not in self._destinations:
            return False
        to = self._number()
        landing = to if isinstance(to, int) else f"landing({to})"
        if code == op.JUMPI:
            condition = self._number()
            self._lines += [*self._left(), f"if {condition}: return {landing}"]
            landing = self.at + 1
        else:
            self._lines += self._left()
        self._lines.append(f"return {landing}")
        self._paid(constants.GAS_HIGH if code == op.JUMPI else constants.GAS_MID)
        self._ended = True
        return True

    def _left(self) -> list[str]:
        """Put back what is left on the stack; what lies where it lay is not touched."""
        before = [f"s{n}" for n in range(self.taken, 0, -1)]
        same = 0
        while same < min(len(before), len(self._words)) and before[same] == self._words[same]:
            same += 1
        gone, new = self.taken - same, "".join(f"{word}, " for word in self._words[same:])
        if gone:
            return [f"w[-{gone}:] = ({new})" if new else f"del w[-{gone}:]"]
        return [f"w += ({new})"] if new else []


def _reaching(memory: Any, meter: Any, at: int) -> bytearray:
    """The memory, which has a word there from now on. Errors: OutOfGas."""
    after = -(-(at + _WORD) // _WORD) * _WORD
    fee = memory_gas_cost(after) - memory_gas_cost(len(memory._bytes))
    if fee > meter.gas_remaining:
        raise OutOfGas(f"Needed {fee}, remaining {meter.gas_remaining}")
    meter.gas_remaining -= fee
    memory.extend(at, _WORD)
    extended: bytearray = memory._bytes
    return extended


class _StretchesOfCode:
    """The stretches of one code, by where they begin: how often it was begun there, the stretch,
    or None where there is none.
    """

    def __init__(self, code: bytes):
        self.by_start: dict[int, int | Stretch | None] = {}
        self._code = code
        self._destinations = frozenset(_destinations(code))

    def stretch(self, start: int) -> Stretch | None:
        """The stretch that begins there, compiled; None for less than two instructions."""
        writer = _Writer(self._code, start, self._destinations)
        source = writer.source()
        if writer.length < 2:
            return None
        names: dict[str, Callable[..., Any]] = {"reaching": _reaching, "landing": self._landing}
        exec(source, names)  # noqa: S102 - the text is of numbers and names of this module alone
        return names["stretch"], writer.gas, writer.taken, _MOST - max(writer.grown, 0)

    def _landing(self, to: int) -> int:
        if to not in self._destinations:
            if to >= len(self._code) or self._code[to] != op.JUMPDEST:
                raise InvalidJumpDestination("Invalid Jump Destination")
            raise InvalidInstruction("Jump resulted in invalid instruction")
        return to


@lru_cache(maxsize=256)
def _stretches_of(code: bytes) -> _StretchesOfCode:
    return _StretchesOfCode(code)


def _destinations(code: bytes) -> Iterator[int]:
    at = 0
    while at < len(code):
        if code[at] == op.JUMPDEST:
            yield at
        at += max(code[at] - op.PUSH1 + 2, 1) if code[at] <= op.PUSH32 else 1


class CompiledCode(CodeStream):
    """A code that runs its own stretches, and gives py-evm the instructions between them."""

    __slots__ = ("_frame", "_stretches")

    def __init__(self, code: bytes, words: list[int | bytes], memory: Any, meter: Any):
        super().__init__(code)
        self._frame, self._stretches = (words, memory, meter), _stretches_of(code)

    def __iter__(self) -> Iterator[int]:
        """The instructions that no stretch has run."""
        code, (words, memory, meter) = self._raw_code_bytes, self._frame
        by_start: dict[int, int | Stretch | None] | None = self._stretches.by_start
        while True:
            at = self.program_counter
            stretch = None if by_start is None else by_start.get(at, 0)
            if isinstance(stretch, int):
                stretch = self._met(at, stretch)
            if stretch is not None:
                run, gas, fewest, most = stretch
                if gas <= meter.gas_remaining and fewest <= len(words) <= most:
                    meter.gas_remaining -= gas
                    self.program_counter = run(words, memory, meter)
                    continue
                by_start = None  # it fails before long
            self.program_counter = at + 1
            yield code[at] if at < len(code) else op.STOP

    def _met(self, at: int, times: int) -> Stretch | None:
        stretches = self._stretches
        if times < OFTEN:
            stretches.by_start[at] = times + 1
            return None
        stretch = stretches.by_start[at] = stretches.stretch(at)
        return stretch
