"""A real smart wallet as the owner: Safe 1.4.1, two of two, deployed and not yet deployed."""

from __future__ import annotations

from typing import Any

import pytest
from eth_abi import encode
from eth_account import Account
from eth_keys import keys
from eth_utils import keccak, to_checksum_address

from chain.contracts import signatures
from tests.contracts.harness import USD, ZERO, Contract, Refusal, World, refused

SALT = 7


class Safes:
    """Singleton, handler and proxy factory of Safe 1.4.1, and the wallet of owner and friend."""

    def __init__(self, world: World) -> None:
        self.world, evm = world, world.evm
        self.owners = sorted((world.owner, world.friend), key=lambda a: int(a, 16))
        self.singleton = evm.deploy("Safe")
        self.handler = evm.deploy("CompatibilityFallbackHandler")
        self.maker = evm.deploy("SafeProxyFactory")
        nothing = (ZERO, b"", self.handler.address, ZERO, 0, ZERO)
        self.setup = self.singleton.data("setup", self.owners, 2, *nothing)
        code = self.maker.read("proxyCreationCode") + encode(["address"], [self.singleton.address])
        salt = keccak(keccak(self.setup) + SALT.to_bytes(32, "big"))
        where = keccak(b"\xff" + bytes.fromhex(self.maker.address[2:]) + salt + keccak(code))[12:]
        self.wallet = evm.at("Safe", to_checksum_address(where))

    @property
    def make(self) -> bytes:
        return self.maker.data("createProxyWithNonce", self.singleton.address, self.setup, SALT)

    def deploy(self) -> None:
        self.world.evm.send(self.world.stranger, self.maker.address, self.make)

    def both(self, digest: bytes, by: list[str] | None = None) -> bytes:
        parts = [
            keys.PrivateKey(self.world.evm.keys[o]).sign_msg_hash(digest) for o in by or self.owners
        ]
        return b"".join(
            p.r.to_bytes(32, "big") + p.s.to_bytes(32, "big") + bytes([27 + p.v]) for p in parts
        )

    def sign(self, digest: bytes, by: list[str] | None = None) -> bytes:
        """SafeMessage(bytes) over the digest, as Safe's own interface signs it."""
        domain = {"chainId": 31337, "verifyingContract": self.wallet.address}
        types = {"SafeMessage": [{"name": "message", "type": "bytes"}]}
        accounts = [Account.from_key(self.world.evm.keys[o]) for o in by or self.owners]
        return b"".join(
            bytes(a.sign_typed_data(domain, types, {"message": digest}).signature) for a in accounts
        )

    def run(self, target: Contract, function: str, *args: Any) -> Any:
        """One transaction of the wallet, signed by both."""
        plain = (target.address, 0, target.data(function, *args), 0, 0, 0, 0, ZERO, ZERO)
        digest = self.wallet.read("getTransactionHash", *plain, self.wallet.read("nonce"))
        return self.wallet.send(self.world.stranger, "execTransaction", *plain, self.both(digest))


@pytest.fixture
def safes(world: World) -> Safes:
    return Safes(world)


def test_a_safe_signs_the_terms_and_a_stranger_brings_them(world: World, safes: Safes) -> None:
    safes.deploy()
    t = world.terms(owner=safes.wallet.address)
    digest = world.factory.read("digestOf", tuple(t.values()))
    for by in ([world.owner], [world.owner, world.stranger], safes.owners[::-1]):
        with refused("BadSignature"):
            world.factory.send(
                world.stranger, "create", *world.create_data(t, signature=safes.sign(digest, by))
            )
    made = world.factory.send(
        world.stranger, "create", *world.create_data(t, signature=safes.sign(digest))
    )
    assert made.one("MandateCreated")["owner"] == safes.wallet.address


def test_a_safe_creates_funds_and_leaves_by_its_own_transactions(
    world: World, safes: Safes
) -> None:
    safes.deploy()
    t = world.terms(owner=safes.wallet.address)
    made = safes.run(world.factory, "create", *world.create_data(t)).one("MandateCreated")
    vault = world.evm.at("MandateVault", made["vault"])
    world.usdc.send(world.owner, "transfer", safes.wallet.address, 100 * USD)
    safes.run(world.usdc, "approve", vault.address, 100 * USD)
    safes.run(vault, "deposit", 100 * USD)
    world.take(vault, 10 * USD)
    told = safes.run(vault, "withdrawAll")
    assert told.one("Withdrawn")["amount"] == 90 * USD == world.balance(safes.wallet)
    with pytest.raises(Refusal):  # one owner of the wallet alone is nobody here
        vault.send(world.owner, "withdrawAll")


def test_the_deployless_check_asks_a_safe_before_and_after_it_exists(
    world: World, safes: Safes
) -> None:
    t = world.terms(owner=safes.wallet.address)
    digest = world.factory.read("digestOf", tuple(t.values()))

    def answer(signature: bytes) -> bytes:
        found = signatures.question(digest, signature, safes.wallet.address)
        assert found is not None
        return world.evm.call(ZERO, None, bytes.fromhex(found.data[2:]))

    def wrapped(signature: bytes) -> bytes:
        return encode(
            ["address", "bytes", "bytes"], [safes.maker.address, safes.make, signature]
        ) + bytes.fromhex("6492" * 16)

    good, bad = safes.sign(digest), safes.sign(digest, [world.owner, world.stranger])
    assert (answer(good), answer(wrapped(good)), answer(wrapped(bad))) == (b"\0", b"\1", b"\0")
    assert world.evm.code(safes.wallet.address) == b""
    safes.deploy()
    assert (answer(good), answer(bad), answer(wrapped(good))) == (b"\1", b"\0", b"\1")
