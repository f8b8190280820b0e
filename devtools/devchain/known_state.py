"""The accounts of the chain, each looked up once for a state: its root says how all of them are.

Each call runs on a state of its own that starts with nothing read; to find the same few accounts
again, py-evm goes down the trie and decodes every node on the way.
"""

from __future__ import annotations

from typing import Any, Final

from eth.db.account import AccountDB
from eth.db.backends.base import BaseDB
from eth.db.hash_trie import HashTrie

_MOST: Final = 20_000
_VALUES: Final[dict[tuple[bytes, bytes], bytes]] = {}


class _KnownValues(BaseDB):
    """A trie whose values are remembered by its root."""

    def __init__(self, trie: HashTrie):
        self._trie = trie

    def __getitem__(self, key: bytes) -> bytes:
        name = self._trie.root_hash, key
        if name not in _VALUES:
            if len(_VALUES) >= _MOST:
                _VALUES.clear()
            _VALUES[name] = self._trie[key]
        return _VALUES[name]

    def __setitem__(self, key: bytes, value: bytes) -> None:
        self._trie[key] = value

    def __delitem__(self, key: bytes) -> None:
        del self._trie[key]


class KnownAccounts(AccountDB):
    """The accounts under one root, and what is written to them."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._trie_cache._db = _KnownValues(self._trie)
