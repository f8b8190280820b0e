"""Phrases in a small notation, compiled into one automaton that reads words in linear time.

Notation: words stand for themselves; `( a | b c )` are alternatives; `?`, `*` and `{m,n}` follow what they repeat; `<name>`
stands for another expression. There is no recursion, so that the language is regular: an automaton reads it in one step a word,
and keeps every phrase that fits, which is what tells two readings of one clause apart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

FREE: Final = "W"
DEAD: Final = -1
_PART: Final = re.compile(r"<\w+>|\{\d+,\d+\}|[()|?*]|[^\s()|?*{}<>]+")
_CACHED: Final = 60_000


class Automaton:
    """Every phrase at once. States are made when they are first met; the cache is bounded."""

    def __init__(self, phrases: Sequence[str], macros: Mapping[str, str]):
        self._edges: list[dict[str, list[int]]] = []
        self._silent: list[list[int]] = []
        self._ends: dict[int, int] = {}
        self._macros = {name: _parsed(text) for name, text in macros.items()}
        self.words: set[str] = set()
        start = self._state()
        for number, phrase in enumerate(phrases):
            first, last = self._build(_parsed(phrase))
            self._silent[start].append(first)
            self._ends[last] = number
        self._start = self._closed({start})
        self._forget()

    def _forget(self) -> None:
        self._known: dict[frozenset[int], int] = {}
        self._sets: list[frozenset[int]] = []
        self.accepts: list[tuple[int, ...]] = []
        self._moves: list[dict[str, int]] = []
        self._made = 0
        self.start = self._number(self._start)

    def fresh(self) -> None:
        """Bound the memory: called between notes, because state numbers do not outlive it."""
        if self._made > _CACHED:
            self._forget()

    def step(self, state: int, word: str, free: bool) -> int:
        """The state behind one word, or DEAD. `free`: the word may also stand in a free place."""
        key = word if not free or word in self.words else FREE
        to = self._moves[state].get(key)
        return self._made_move(state, key, free) if to is None else to

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

    def _state(self) -> int:
        self._edges.append({})
        self._silent.append([])
        return len(self._edges) - 1

    def _build(self, tree: object) -> tuple[int, int]:
        """(first, last) state of an expression."""
        first = self._state()
        if isinstance(tree, str):
            if tree.startswith("<") and len(tree) > 2:
                return self._build(self._macros[tree[1:-1]])
            last = self._state()
            self._edges[first].setdefault(tree, []).append(last)
            self.words.add(tree)
            return first, last
        kind, *rest = tree  # type: ignore[misc]
        if kind == "seq":
            at = first
            for part in rest[0]:
                a, b = self._build(part)
                self._silent[at].append(a)
                at = b
            return first, at
        last = self._state()
        if kind == "any":
            for part in rest[0]:
                if _one_word(part):
                    word = part[1][0]
                    self._edges[first].setdefault(word, []).append(last)
                    self.words.add(word)
                    continue
                a, b = self._build(part)
                self._silent[first].append(a)
                self._silent[b].append(last)
        else:
            self._repeated(first, last, *rest)
        return first, last

    def _repeated(self, first: int, last: int, part: object, least: int, most: int | None) -> None:
        at = first
        for n in range(most or 1):
            if n >= least:
                self._silent[at].append(last)
            a, b = self._build(part)
            self._silent[at].append(a)
            at = b
            if most is None:
                self._silent[b].append(a)
        self._silent[at].append(last)


def _one_word(tree: object) -> bool:
    """True for a sequence of one plain word: it needs no states of its own."""
    return isinstance(tree, tuple) and tree[0] == "seq" and len(tree[1]) == 1 and _plain(tree[1][0])


def _plain(tree: object) -> bool:
    return isinstance(tree, str) and not (tree.startswith("<") and len(tree) > 2)


def _parsed(text: str) -> object:
    parts = _PART.findall(text)
    tree, at = _any(parts, 0)
    if at != len(parts):
        raise ValueError(f"a phrase does not end where it should: {text}")
    return tree


def _any(parts: list[str], at: int) -> tuple[object, int]:
    options: list[object] = []
    while True:
        seq: list[object] = []
        while at < len(parts) and parts[at] not in ("|", ")"):
            if parts[at] == "(":
                one, at = _any(parts, at + 1)
                at += 1
            else:
                one, at = parts[at], at + 1
            while at < len(parts) and (parts[at] in ("?", "*") or parts[at][0] == "{"):
                one, at = _repeat(one, parts[at]), at + 1
            seq.append(one)
        options.append(("seq", seq))
        if at >= len(parts) or parts[at] == ")":
            return (("any", options) if len(options) > 1 else options[0]), at
        at += 1


def _repeat(one: object, mark: str) -> object:
    if mark == "?":
        return ("rep", one, 0, 1)
    if mark == "*":
        return ("rep", one, 0, None)
    least, most = mark[1:-1].split(",")
    return ("rep", one, int(least), int(most))
