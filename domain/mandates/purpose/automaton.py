"""Phrases in a small notation, compiled into one automaton that reads words in linear time.

Notation: words stand for themselves; `( a | b c )` are alternatives; `?`, `*` and `{m,n}` follow
what they repeat; `<name>` stands for another expression. There is no recursion, so that the
language is regular: an automaton reads it in one step a word, and keeps every phrase that fits,
which is what tells two readings of one clause apart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

FREE: Final = "W"
DEAD: Final = -1
_PART: Final = re.compile(r"<\w+>|\{\d+,\d+\}|[()|?*]|[^\s()|?*{}<>]+")
_CACHED: Final = 60_000
_NO_EDGES: Final[dict[str, list[int]]] = {}
_NONE: Final[list[int]] = []


@dataclass(frozen=True, slots=True)
class _Word:
    """A word, or a macro by its name."""

    text: str
    macro: bool


@dataclass(frozen=True, slots=True)
class _Seq:
    parts: tuple[_Tree, ...]


@dataclass(frozen=True, slots=True)
class _Any:
    options: tuple[_Seq, ...]


@dataclass(frozen=True, slots=True)
class _Repeat:
    """`most` is None where there is no bound."""

    part: _Tree
    least: int
    most: int | None


_Tree = _Word | _Seq | _Any | _Repeat


class Automaton:
    """Every phrase at once. States are made when they are first met; the cache is bounded."""

    def __init__(self, phrases: Sequence[str], macros: Mapping[str, str]):
        self._edges: list[dict[str, list[int]]] = []
        self._silent: list[list[int]] = []
        self._ends: dict[int, int] = {}
        self._macros = {name: parsed(text) for name, text in macros.items()}
        self.words: set[str] = set()
        start = self._state()
        for number, phrase in enumerate(phrases):
            self._ends[self._build(parsed(phrase), start)] = number
        # Most states have no edge of one of the two kinds: they share one that is empty.
        self._edges = [edges or _NO_EDGES for edges in self._edges]
        self._silent = [to or _NONE for to in self._silent]
        self._start = self._closed({start})
        self._forget()

    def fresh(self) -> None:
        """Bound the memory: called between notes, because state numbers do not outlive it."""
        if self._made > _CACHED:
            self._forget()

    def step(self, state: int, word: str, free: bool) -> int:
        """The state behind one word, or DEAD; `free` where the word may stand in a free place."""
        key = word if word in self.words else FREE
        if key == FREE and not free:
            return DEAD
        to = self._moves[state].get(key)
        return self._made_move(state, key, free) if to is None else to

    def _forget(self) -> None:
        self._known: dict[frozenset[int], int] = {}
        self._sets: list[frozenset[int]] = []
        self.accepts: list[tuple[int, ...]] = []
        self._moves: list[dict[str, int]] = []
        self._made = 0
        self.start = self._number(self._start)

    def _made_move(self, state: int, key: str, free: bool) -> int:
        found: set[int] = set()
        for at in self._sets[state]:
            edges = self._edges[at]
            found.update(edges.get(key, ()))
            if free and key != FREE:
                found.update(edges.get(FREE, ()))
        to = self._number(self._closed(found)) if found else DEAD
        self._moves[state][key] = to
        self._made += 1
        return to

    def _number(self, states: frozenset[int]) -> int:
        at = self._known.get(states)
        if at is None:
            at = self._known[states] = len(self._sets)
            self._sets.append(states)
            self.accepts.append(tuple(sorted(self._ends[s] for s in states if s in self._ends)))
            self._moves.append({})
        return at

    def _closed(self, states: set[int]) -> frozenset[int]:
        todo, seen = list(states), set(states)
        while todo:
            for to in self._silent[todo.pop()]:
                if to not in seen:
                    seen.add(to)
                    todo.append(to)
        return frozenset(s for s in seen if self._edges[s] or s in self._ends)

    # -- building

    def _state(self) -> int:
        self._edges.append({})
        self._silent.append([])
        return len(self._edges) - 1

    def _edge(self, first: int, word: str, last: int) -> None:
        self._edges[first].setdefault(word, []).append(last)
        self.words.add(word)

    def _build(self, tree: _Tree, at: int) -> int:
        """The state behind an expression that starts in a state."""
        if isinstance(tree, _Word):
            if tree.macro:
                return self._build(self._macros[tree.text], at)
            last = self._state()
            self._edge(at, tree.text, last)
            return last
        if isinstance(tree, _Seq):
            for part in tree.parts:
                at = self._build(part, at)
            return at
        return self._options(at, tree) if isinstance(tree, _Any) else self._repeated(at, tree)

    def _options(self, at: int, tree: _Any) -> int:
        last = self._state()
        for option in tree.options:
            only = option.parts[0] if len(option.parts) == 1 else None
            if isinstance(only, _Word) and not only.macro:
                self._edge(at, only.text, last)
            else:
                self._silent[self._build(option, at)].append(last)
        return last

    def _repeated(self, at: int, tree: _Repeat) -> int:
        last = self._state()
        if tree.most is None:
            # What loops back may not come out where something else starts too.
            loop = self._state()
            self._silent[at].append(loop)
            at = loop
        for n in range(tree.most or 1):
            if n >= tree.least:
                self._silent[at].append(last)
            behind = self._build(tree.part, at)
            if tree.most is None:
                self._silent[behind].append(at)
            at = behind
        self._silent[at].append(last)
        return last


def parsed(text: str) -> _Tree:
    """The tree of an expression.

    Errors: ValueError where brackets do not match.
    """
    parts = _PART.findall(text)
    tree, at = _any(parts, 0)
    if at != len(parts):
        raise ValueError(f"a phrase does not end where it should: {text}")
    return tree


def _any(parts: list[str], at: int) -> tuple[_Tree, int]:
    options: list[_Seq] = []
    while True:
        seq: list[_Tree] = []
        while at < len(parts) and parts[at] not in ("|", ")"):
            one, at = _one(parts, at)
            seq.append(one)
        options.append(_Seq(tuple(seq)))
        if at >= len(parts) or parts[at] == ")":
            return (_Any(tuple(options)) if len(options) > 1 else options[0]), at
        at += 1


def _one(parts: list[str], at: int) -> tuple[_Tree, int]:
    """One word, macro or group with its repetition."""
    one: _Tree
    if parts[at] == "(":
        one, at = _any(parts, at + 1)
    else:
        macro = parts[at].startswith("<")
        one = _Word(parts[at].strip("<>") if macro else parts[at], macro)
    at += 1
    while at < len(parts) and (parts[at] in ("?", "*") or parts[at][0] == "{"):
        one = _repeat(one, parts[at])
        at += 1
    return one, at


def _repeat(one: _Tree, mark: str) -> _Repeat:
    if mark in ("?", "*"):
        return _Repeat(one, 0, 1 if mark == "?" else None)
    least, most = mark[1:-1].split(",")
    return _Repeat(one, int(least), int(most))
