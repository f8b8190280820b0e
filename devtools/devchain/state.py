"""The accounts of the development chain, in maps that share what is the same in two blocks.

py-evm keeps them in a trie, out of which a node can prove what an account holds. Nobody asks this
chain for a proof, and each look into the trie decodes several nodes on its way.
Source: py-evm's `eth.db.account`, whose answers these are; the tests run both beside each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from eth.abc import AccountDatabaseAPI, MetaWitnessAPI
from eth.constants import EMPTY_SHA3
from eth.db.witness import MetaWitness
from eth.validation import validate_canonical_address, validate_uint256
from eth_typing import Address, Hash32
from eth_utils import keccak
from rpds import HashTrieMap, HashTrieSet


class Account(NamedTuple):
    """An account; `balance` in wei, `storage` the slots that are not zero."""

    nonce: int = 0
    balance: int = 0
    code_hash: Hash32 = EMPTY_SHA3
    code: bytes = b""
    storage: HashTrieMap[int, int] = HashTrieMap()


EMPTY_ROOT: Final = Hash32(b"\0" * 32)
_NOBODY: Final = Account()


States = dict[bytes, "HashTrieMap[bytes, Account]"]


def no_accounts() -> States:
    """The state that nobody is in, by its root."""
    return {EMPTY_ROOT: HashTrieMap()}


@dataclass(frozen=True, slots=True, eq=False)
class _Mark:
    """A point within a transaction; each is another to py-evm, even where two hold the same."""

    accounts: HashTrieMap[bytes, Account]
    warm: HashTrieSet[Any]


class Accounting(AccountDatabaseAPI):
    """Accounts as py-evm asks for them, from the state on that `states` has under a root; new
    states are put there.

    A root commits to the root before it and to each value that was written since.
    """

    def __init__(self, states: Any, state_root: Hash32 = EMPTY_ROOT) -> None:
        self._states: States = states
        self._root, self._accounts = state_root, self._states[state_root]
        self._locked = self._accounts  # as they were when the transaction began
        self._warm: HashTrieSet[Any] = HashTrieSet()
        self._written: set[tuple[Address, int | None]] = set()

    @property
    def state_root(self) -> Hash32:
        return self._root

    @state_root.setter
    def state_root(self, value: Hash32) -> None:
        if value != self._root:
            self._root, self._accounts = value, self._states[value]

    def has_root(self, state_root: bytes) -> bool:
        return state_root in self._states

    def _of(self, address: Address) -> Account:
        validate_canonical_address(address)
        account: Account = self._accounts.get(address, _NOBODY)
        return account

    def _put(self, address: Address, slot: int | None = None, /, **changes: Any) -> None:
        self._written.add((address, slot))
        self._accounts = self._accounts.insert(address, self._of(address)._replace(**changes))

    # -- storage

    def get_storage(self, address: Address, slot: int, from_journal: bool = True) -> int:
        validate_uint256(slot)
        account = self._of(address) if from_journal else self._locked.get(address, _NOBODY)
        value: int = account.storage.get(slot, 0)
        return value

    def set_storage(self, address: Address, slot: int, value: int) -> None:
        old = self._of(address).storage
        self._put(address, slot, storage=old.insert(slot, value) if value else old.discard(slot))

    def delete_storage(self, address: Address) -> None:
        self._put(address, storage=_NOBODY.storage)

    def is_storage_warm(self, address: Address, slot: int) -> bool:
        return (address, slot) in self._warm

    def mark_storage_warm(self, address: Address, slot: int) -> None:
        self._warm = self._warm.insert((address, slot))

    # -- balance, nonce, code

    def get_balance(self, address: Address) -> int:
        return self._of(address).balance

    def set_balance(self, address: Address, balance: int) -> None:
        validate_uint256(balance)
        self._put(address, balance=balance)

    def get_nonce(self, address: Address) -> int:
        return self._of(address).nonce

    def set_nonce(self, address: Address, nonce: int) -> None:
        self._put(address, nonce=nonce)

    def increment_nonce(self, address: Address) -> None:
        self._put(address, nonce=self.get_nonce(address) + 1)

    def get_code(self, address: Address) -> bytes:
        return self._of(address).code

    def set_code(self, address: Address, code: bytes) -> None:
        self._put(address, code=code, code_hash=Hash32(keccak(code)))

    def get_code_hash(self, address: Address) -> Hash32:
        return self._of(address).code_hash

    def delete_code(self, address: Address) -> None:
        self.set_code(address, b"")

    # -- accounts

    def account_has_code_or_nonce(self, address: Address) -> bool:
        account = self._of(address)
        return bool(account.nonce or account.code)

    def delete_account(self, address: Address) -> None:
        self._written.add((address, None))
        self._accounts = self._accounts.discard(address)

    def account_exists(self, address: Address) -> bool:
        return address in self._accounts

    def touch_account(self, address: Address) -> None:
        if address not in self._accounts:
            self._put(address)

    def account_is_empty(self, address: Address) -> bool:
        return not self.account_has_code_or_nonce(address) and not self.get_balance(address)

    def is_address_warm(self, address: Address) -> bool:
        return address in self._warm

    def mark_address_warm(self, address: Address) -> None:
        self._warm = self._warm.insert(address)

    # -- going back, and on

    def record(self) -> Any:
        """Answer what `discard` goes back to."""
        return _Mark(self._accounts, self._warm)

    def discard(self, checkpoint: Any) -> None:
        self._accounts, self._warm = checkpoint.accounts, checkpoint.warm

    def commit(self, checkpoint: Any) -> None:
        """Keep what was done since; it is done already."""

    def lock_changes(self) -> None:
        """End a transaction."""
        self._locked, self._warm = self._accounts, HashTrieSet()

    def make_state_root(self) -> Hash32:
        """Keep the state as it is now, under a root of its own if anything was written."""
        if self._written:
            lines = sorted(
                f"{address.hex()} {slot} "
                f"{self._summary(address) if slot is None else self.get_storage(address, slot)}"
                for address, slot in self._written
            )
            self._root = Hash32(keccak(self._root + "\n".join(lines).encode()))
            self._states[self._root] = self._locked = self._accounts
            self._written = set()
        return self._root

    def _summary(self, address: Address) -> tuple[object, ...]:
        account = self._of(address)
        return *account[:3], len(account.storage)

    def persist(self) -> MetaWitnessAPI:
        """Keep the state; nobody is told which parts of it were read."""
        self.make_state_root()
        return MetaWitness(set(), {})
