"""Keystore: the keeper's venue keys, encrypted on disk, one per network and wallet, and the keys of
agents; used by the signer process only.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, TypeAlias

from eth_account import Account
from eth_keys.datatypes import PrivateKey

from domain.trading.venue_values import NETWORKS, Network
from venue.signing import key_from

Purpose: TypeAlias = Network | Literal["agent"]
"""What a key signs for: a linked wallet at a network of the venue, or an agent."""

_WALLET: Final = re.compile(r"0x[0-9a-f]{40}")
# An agent's id, and the number of its key: 99 at the most.
_AGENT: Final = re.compile(r"u_[a-z2-7]{10}-[1-9][0-9]?")
_ROUNDS: Final = 100_000
_SHORTEST_SEAL: Final = 32


class Unsafe(Exception):
    """Others can read the keys, or another process holds them, or the seal is none of theirs."""


def _private(path: Path) -> None:
    """Require that only the signer's user can access a path. Errors: Unsafe."""
    info = path.stat()
    if info.st_uid != os.getuid() or stat.S_IMODE(info.st_mode) & 0o077:
        raise Unsafe(f"{path} belongs to the signer's user alone, with no right for others")


class Keystore:
    """Encrypted keys (Ethereum keystore version 3), decrypted at their first use."""

    def __init__(self, folder: Path, seal_file: Path, random: Callable[[], int]):
        """`random` gives 256 bits from a CSPRNG. Errors: Unsafe."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _private(folder)
        _private(seal_file)
        self._folder, self._random = folder, random
        try:
            self._seal = seal_file.read_text().strip()
        except UnicodeDecodeError:
            raise Unsafe(f"{seal_file} holds no text: the seal is one") from None
        if len(self._seal) < _SHORTEST_SEAL:
            raise Unsafe(f"the seal has at least {_SHORTEST_SEAL} characters")
        self._open: dict[tuple[Purpose, str], PrivateKey] = {}
        # Under another seal no key would sign, and new ones would be made beside them.
        files = sorted(folder.glob("*.json"))
        if files and not any(map(self._opens, files)):
            raise Unsafe(
                f"the seal opens no key in {folder}: give the one that they were made with"
            )

    def _opens(self, path: Path) -> bool:
        try:
            Account.decrypt(json.loads(path.read_text()), self._seal)
        except (ValueError, LookupError, TypeError):
            return False
        return True

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the folder: a key that another process makes, renews or ends would go on being
        another one here. Errors: Unsafe.
        """
        handle = os.open(self._folder, os.O_RDONLY)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Unsafe(f"another signer holds the keys in {self._folder}") from None
            yield
        finally:
            os.close(handle)

    def address(self, network: Purpose, wallet: str) -> str:
        """EIP-55 address of the key for a linked wallet; the key is created at the first call."""
        key = self._find(network, wallet) or self._make(network, wallet)
        return str(key.public_key.to_checksum_address())

    def renewed(self, network: Network, wallet: str, revoked: str) -> str:
        """Address of a key other than the revoked one: the venue forgets its nonces with it."""
        address = self.address(network, wallet)
        if address.lower() != revoked.lower():
            return address
        old = self._path(network, wallet, "json")
        old.replace(self._path(network, wallet, f"{revoked.lower()}.spent"))
        self._path(network, wallet, "nonce").unlink(missing_ok=True)
        del self._open[network, wallet.lower()]
        return self.address(network, wallet)

    def agent_address(self, name: str) -> str | None:
        """EIP-55 address of an agent's key, which is created at the first call; None for one that
        has ended.
        """
        if self._path("agent", name, "ended").exists():
            return None
        return self.address("agent", name)

    def agent_key(self, name: str) -> bytes | None:
        """An agent's key; None where there is none."""
        key = self._find("agent", name)
        return None if key is None else key.to_bytes()

    def agent_key_count(self) -> int:
        """The number of agents' keys that have not ended."""
        return sum(1 for _ in self._folder.glob("agent-*.json"))

    def end_agent(self, name: str) -> None:
        """Put an agent's key away: nothing is signed with it from now on, and none is created in
        its place. Its sealed file stays, as what is paid to its address could never be moved
        without.
        """
        if (path := self._path("agent", name, "json")).exists():
            path.replace(self._path("agent", name, "ended"))
        self._open.pop(("agent", name), None)

    def key(self, network: Purpose, wallet: str) -> PrivateKey | None:
        """The key for a linked wallet; None where there is none."""
        return self._find(network, wallet)

    def nonce(self, network: Network, wallet: str, now_ms: int) -> int:
        """A nonce that this key never used, by the time; stored before it is returned."""
        path = self._path(network, wallet, "nonce")
        last = int(path.read_text()) if path.exists() else 0
        nonce = max(now_ms, last + 1)
        self._write(path, str(nonce))
        return nonce

    def _path(self, network: Purpose, wallet: str, kind: str) -> Path:
        name, form = wallet.lower(), _AGENT if network == "agent" else _WALLET
        if network not in (*NETWORKS, "agent") or not form.fullmatch(name):
            raise ValueError("a key belongs to a network and a wallet, or to an agent")
        return self._folder / f"{network}-{name}.{kind}"

    def _find(self, network: Purpose, wallet: str) -> PrivateKey | None:
        path = self._path(network, wallet, "json")
        key = self._open.get((network, wallet.lower()))
        if key is None and path.exists():
            key = key_from(bytes(Account.decrypt(json.loads(path.read_text()), self._seal)))
            self._open[network, wallet.lower()] = key
        return key

    def _make(self, network: Purpose, wallet: str) -> PrivateKey:
        secret = self._random().to_bytes(32, "big")
        sealed = Account.encrypt(secret, self._seal, kdf="pbkdf2", iterations=_ROUNDS)
        self._write(self._path(network, wallet, "json"), json.dumps(sealed))
        key = self._find(network, wallet)
        if key is None:
            raise FileNotFoundError(f"{network}-{wallet}")
        return key

    def _write(self, path: Path, text: str) -> None:
        """Replace a file atomically, after its content is on disk."""
        new = path.with_suffix(path.suffix + ".new")
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
