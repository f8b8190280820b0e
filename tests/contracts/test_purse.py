"""A purse on the embedded EVM: what it pays, whose money it moves, and what it tells.

Every attack on it is in `contracts/prove/Purse.t.sol`; here is what each line of it decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from eth_abi import encode
from eth_account import Account
from eth_utils import keccak

from tests.contracts.harness import (
    BILL,
    DAY,
    TRANSFER,
    USD,
    ZERO,
    Bill,
    Contract,
    Receipt,
    Refusal,
    World,
    refused,
    selector,
)

YES, NO = bytes.fromhex("1626ba7e"), b"\xff" * 4
NOBODY = b"\0" * 32
BARE = 225  # bytes of a bill and the agent's signature


@dataclass
class Shop:
    """A vault with its hub; the agent pays, the friend sells."""

    w: World
    hub: Contract
    vault: Contract
    n: int = 0

    @property
    def purse(self) -> Contract:
        return self.w.purse(self.hub, self.vault)

    def inside(self) -> int:
        return self.w.balance(self.purse)

    def fund(self, amount: int, **how: Any) -> Receipt:
        return self.w.act(self.vault, self.hub, "fund", amount, approve=amount, **how)

    def drain(self) -> Receipt:
        return self.w.act(self.vault, self.hub, "drain")

    def bill(self, value: int, to: str | None = None, **changes: Any) -> Bill:
        self.n += 1
        made = self.w.bill(self.purse, to or self.w.friend, value, self.n)
        names = ("to", "value", "after", "before", "nonce")
        return tuple(changes.get(n, v) for n, v in zip(names, made, strict=True))  # type: ignore[return-value]

    def answer(self, bill: Bill, signature: bytes | None = None, code: Contract | None = None) -> bytes:  # fmt: skip
        signature = self.w.signed_bill(self.purse, bill) if signature is None else signature
        asked = self.w.bill_hash(self.purse, bill), signature
        told: bytes = (code or self.purse).read("isValidSignature", *asked)
        return told

    def good(self, bill: Bill, signature: bytes | None = None) -> bool:
        told = self.answer(bill, signature)
        assert told in (YES, NO)
        return told == YES

    def pay(self, value: int, to: str | None = None) -> Receipt:
        return self.w.settle_bill(self.purse, self.bill(value, to))

    def granted(self, bill: Bill, until: int, by: str, proof: tuple[bytes, ...] = ()) -> bytes:
        """The bill with the agent's signature, a proof, and an ApproveAction by somebody."""
        types, values = ["bytes32", "address", *BILL], [TRANSFER, self.purse.address, *bill]
        message = keccak(encode(types, values))
        told = [self.purse.address, bill[0], message, bill[1]]
        action = keccak(encode(["address", "address", "bytes32", "uint256"], told))
        digest = self.w.factory.read(
            "approvalDigestOf", self.vault.read("terms")[0][9], action, until
        )
        signed = bytes(Account.unsafe_sign_hash(digest, self.w.evm.keys[by]).signature)
        return self.w.signed_bill(self.purse, bill) + grant(proof, until, signed)


def grant(proof: tuple[bytes, ...] = (), until: int = 0, signed: bytes = b"") -> bytes:
    return encode(["bytes32[]", "uint64", "bytes"], [list(proof), until, signed])


def open_shop(w: World, hub: Contract | None = None, **terms: Any) -> Shop:
    hub = hub or w.hub()
    calls = [(hub.address, selector("fund(uint256)"), 0), (hub.address, selector("drain()"), 0)]
    return Shop(w, hub, w.vault(calls=[*w.calls()[:8], *calls], probes=w.probes()[:1], **terms))


@pytest.fixture(scope="module")
def asking() -> World:
    return World(approvals_on_chain=True)


@pytest.fixture
def shop(asking: World) -> Iterator[Shop]:
    """Budget 1,000, 200 an action, 500 a day, floor 200, an approval above 50; 100 in the purse."""
    before, time = asking.evm.chain.snapshot(), asking.evm.time
    made = open_shop(asking, stopFloorBps=8_000, approvalAbove=50 * USD)
    for _ in range(2):
        made.fund(50 * USD)
    yield made
    asking.evm.chain.revert(before)
    asking.evm.time, asking.mandates = time, 0


# -- bills -----------------------------------------------------------------------------------------


def test_a_bill_of_the_agent_is_paid_by_whoever_settles_it(shop: Shop) -> None:
    told = shop.pay(2 * USD)
    used, moved = (e for e in told.events if e.name in ("AuthorizationUsed", "Transfer"))
    assert (used.name, used.args["authorizer"]) == ("AuthorizationUsed", shop.purse.address)
    assert (moved.args["from"], moved.args["value"]) == (shop.purse.address, 2 * USD)
    assert (shop.inside(), shop.w.balance(shop.w.friend)) == (98 * USD, 2 * USD)
    assert shop.vault.read("totalSpent") == 100 * USD


def test_a_bill_is_paid_once(shop: Shop) -> None:
    bill = shop.bill(USD)
    shop.w.settle_bill(shop.purse, bill)
    with refused("Error"):
        shop.w.settle_bill(shop.purse, bill)


def test_only_the_agents_signature_makes_a_bill(shop: Shop) -> None:
    w, bill = shop.w, shop.bill(USD)
    assert shop.good(bill)
    for who in (w.owner, w.keeper, w.stranger):
        assert not shop.good(bill, w.signed_bill(shop.purse, bill, who))
    other = shop.bill(USD)
    assert not shop.good(bill, w.signed_bill(shop.purse, other))
    signed = w.signed_bill(shop.purse, bill)
    for place in (160, 191, 192, 223, 224):
        assert not shop.good(
            bill, signed[:place] + bytes([signed[place] ^ 1]) + signed[place + 1 :]
        )


def test_the_hash_is_that_of_the_bill_in_usdcs_domain_and_of_this_purse(shop: Shop) -> None:
    bill = shop.bill(USD)
    signed, right = shop.w.signed_bill(shop.purse, bill), shop.w.bill_hash(shop.purse, bill)
    assert shop.purse.read("isValidSignature", right, signed) == YES
    assert shop.purse.read("isValidSignature", keccak(right), signed) == NO
    elsewhere = shop.w.bill_hash(shop.hub, bill)
    assert shop.purse.read("isValidSignature", elsewhere, signed) == NO
    # What the agent signed in another way is no bill, whatever words stand before it.
    key = shop.w.evm.keys[shop.w.agent]
    for hash_ in (elsewhere, keccak(right)):
        theirs = encode(BILL, bill) + bytes(Account.unsafe_sign_hash(hash_, key).signature)
        assert shop.purse.read("isValidSignature", hash_, theirs) == NO


def test_an_amount_is_more_than_nothing_and_at_most_the_cap_of_an_action(shop: Shop) -> None:
    shop = open_shop(shop.w, stopFloorBps=8_000)
    shop.fund(200 * USD)
    assert [shop.good(shop.bill(v)) for v in (0, 1, 200 * USD, 200 * USD + 1)] == [
        False,
        True,
        True,
        False,
    ]


def test_a_bill_is_good_after_its_first_moment_and_before_its_last_for_an_hour(shop: Shop) -> None:
    now = shop.w.evm.time

    def good(after: int, before: int) -> bool:
        return shop.good(shop.bill(USD, after=after, before=before))

    assert [good(now - 1, now + 1), good(now, now + 1), good(now - 1, now)] == [True, False, False]
    assert [good(now - 1, now + 3_599), good(now - 1, now + 3_600)] == [True, False]
    assert not good(now + 60, now + 30)
    assert not good(0, 2**256 - 1)


def test_the_end_of_the_mandate_is_the_end_of_its_bills(shop: Shop) -> None:
    shop.w.evm.time = shop.vault.read("terms")[0][6] - 1
    assert shop.good(shop.bill(USD))
    shop.w.evm.time += 1
    assert not shop.good(shop.bill(USD))


def test_a_bill_to_the_vault_the_purse_or_the_hub_is_refused(shop: Shop) -> None:
    places = (shop.vault, shop.purse, shop.hub)
    assert [shop.good(shop.bill(USD, p.address)) for p in places] == [False] * 3
    assert [shop.good(shop.bill(USD, p)) for p in (shop.w.owner, shop.w.agent)] == [True, True]


def test_pause_and_stop_make_bills_invalid_and_resuming_valid(shop: Shop) -> None:
    bill = shop.bill(USD)
    shop.vault.send(shop.w.owner, "revokeAgent")
    assert not shop.good(bill)
    shop.vault.send(shop.w.owner, "setAgent", shop.w.agent)
    assert shop.good(bill)
    shop.vault.send(shop.w.owner, "stop")
    assert not shop.good(bill)


def test_void_ends_the_bills_of_an_epoch(shop: Shop) -> None:
    w, bill = shop.w, shop.bill(USD)
    told = shop.purse.send(w.owner, "void")
    w.evm.names[shop.hub.address] = "PurseHub"
    digest = shop.vault.read("terms")[0][9]
    assert told.one("PurseVoided") == {"mandate": digest, "purse": shop.purse.address, "epoch": 1}
    assert (shop.purse.read("epoch"), shop.good(bill), shop.good(shop.bill(USD))) == (
        1,
        False,
        True,
    )
    shop.purse.send(w.agent, "void")
    assert shop.purse.read("epoch") == 2
    for who in (w.stranger, w.keeper):
        with refused("NotAuthorized", who):
            shop.purse.send(who, "void")
    shop.vault.send(w.owner, "revokeAgent")
    with refused("NotAuthorized", w.agent):
        shop.purse.send(w.agent, "void")


def test_void_is_told_by_purses_alone(shop: Shop) -> None:
    with refused("NotAuthorized", shop.w.owner):
        shop.hub.send(shop.w.owner, "voided", shop.vault.address, NOBODY, 1)


# -- approvals and payees ------------------------------------------------------------------------------


def test_above_the_approval_amount_the_owner_signs_too_and_until_its_moment(shop: Shop) -> None:
    w, until = shop.w, shop.w.evm.time + 60
    assert shop.good(shop.bill(50 * USD))
    bill = shop.bill(50 * USD + 1)
    assert not shop.good(bill)
    assert shop.good(bill, shop.granted(bill, until, w.owner))
    for who in (w.agent, w.stranger, w.keeper):
        assert not shop.good(bill, shop.granted(bill, until, who))
    other = shop.bill(50 * USD + 1)
    theirs = shop.granted(bill, until, w.owner)[BARE:]
    assert not shop.good(other, w.signed_bill(shop.purse, other) + theirs)
    w.evm.time = until
    assert shop.good(bill, shop.granted(bill, until, w.owner))
    w.evm.time += 1
    assert not shop.good(bill, shop.granted(bill, until, w.owner))
    assert shop.good(bill, shop.granted(bill, 2**64 - 1, w.owner))


def test_where_nothing_is_approved_on_chain_no_bill_needs_it(world: World) -> None:
    shop = open_shop(world, approvalAbove=50 * USD)
    shop.fund(150 * USD)
    assert shop.good(shop.bill(51 * USD))
    assert shop.purse.read("config")[6] == 0


def leaf(payee: str) -> bytes:
    return keccak(keccak(encode(["address"], [payee])))


def pair(one: bytes, other: bytes) -> bytes:
    return keccak(min(one, other) + max(one, other))


def test_payees_are_proven_where_the_policy_names_some(shop: Shop) -> None:
    w = shop.w
    friend, keeper, owner = (leaf(p) for p in (w.friend, w.keeper, w.owner))
    inner = pair(friend, keeper)
    shop = open_shop(
        w, w.hub(payees=pair(inner, owner)), stopFloorBps=8_000, approvalAbove=50 * USD
    )
    shop.fund(50 * USD)

    def good(to: str, *proof: bytes) -> bool:
        bill = shop.bill(USD, to)
        return shop.good(bill, w.signed_bill(shop.purse, bill) + grant(proof))

    assert not shop.good(shop.bill(USD))
    assert [good(w.friend, keeper, owner), good(w.keeper, friend, owner), good(w.owner, inner)] == [
        True
    ] * 3
    assert not good(w.stranger, keeper, owner)
    assert not good(w.friend, keeper)
    assert not good(w.friend)
    assert not good(w.friend, keeper, owner, owner)
    # The list and the approval amount: one is no help where the other fails.
    shop.fund(50 * USD)
    bill, until = shop.bill(51 * USD), w.evm.time + 60
    assert not shop.good(bill, w.signed_bill(shop.purse, bill) + grant((keeper, owner)))
    assert not shop.good(bill, shop.granted(bill, until, w.owner))
    assert shop.good(bill, shop.granted(bill, until, w.owner, (keeper, owner)))


# -- bytes ---------------------------------------------------------------------------------------------


def test_bytes_of_any_other_form_are_a_no_and_never_a_revert(shop: Shop) -> None:
    bill = shop.bill(USD)
    signed = shop.w.signed_bill(shop.purse, bill)
    for size in (0, 1, 31, 32, 160, 192, 224):
        assert not shop.good(bill, signed[:size])
    assert not shop.good(bill, b"\x01" + signed[1:])  # an address word with dirty upper bits
    assert not shop.good(bill, b"\0" * 11 + b"\x01" + signed[12:])
    assert shop.good(shop.bill(USD, "0x" + "ff" * 20))
    assert not shop.good(bill, signed + b"\0")
    assert not shop.good(bill, signed + b"\0" * 95)
    assert shop.good(bill, signed + grant())


def test_a_grant_of_any_other_form_is_a_no_and_never_a_revert(shop: Shop) -> None:
    bill, until = shop.bill(51 * USD), shop.w.evm.time + 60
    whole = shop.granted(bill, until, shop.w.owner)
    assert shop.good(bill, whole)
    assert shop.good(bill, whole[:-31])  # the padding behind the owner's signature
    for size in (*range(BARE, len(whole) - 31, 16), len(whole) - 32):
        assert not shop.good(bill, whole[:size])
    for word in range(3):
        for value in (2**256 - 1, 2**256 - 32, 2**64, 2**255, 7 * 32):
            at = BARE + 32 * word
            bad = whole[:at] + value.to_bytes(32, "big") + whole[at + 32 :]
            assert not shop.good(bill, bad), (word, value)
    dirty = BARE + 32  # the moment is an uint64, and its upper bits are clean
    assert not shop.good(bill, whole[: dirty + 23] + b"\x01" + whole[dirty + 24 :])
    assert shop.good(shop.bill(USD, nonce=bill[4]))


def test_a_count_of_the_proof_that_reaches_over_the_end_is_a_no(shop: Shop) -> None:
    bill = shop.bill(USD)
    bare = shop.w.signed_bill(shop.purse, bill)
    tail = [0x80, 0, 0x60, 0]  # the signature first, and then the proof, at the very end
    for count, good in ((0, True), (1, False), (2**251, False), (2**256 - 1, False)):
        words = [*tail, count]
        assert shop.good(bill, bare + b"".join(w.to_bytes(32, "big") for w in words)) is good
    words = [0x80, 0, 0x60, 0, 1, 7]
    assert shop.good(bill, bare + b"".join(w.to_bytes(32, "big") for w in words))
    words[4] = 2  # of two words one is there
    assert not shop.good(bill, bare + b"".join(w.to_bytes(32, "big") for w in words))
    words[4] = 1
    least = (0x20, 0, 0x20)  # both arrays have the moment, zero, for their count
    assert shop.good(bill, bare + b"".join(w.to_bytes(32, "big") for w in least))
    words[0] = 0xA1  # an offset whose word is not whole
    assert not shop.good(bill, bare + b"".join(w.to_bytes(32, "big") for w in words))


# -- fund ----------------------------------------------------------------------------------------------


def test_the_first_funding_opens_the_purse_and_tells_it(world: World) -> None:
    shop = open_shop(world)
    assert shop.hub.read("purseOf", shop.vault.address) == (False, ZERO)
    told = shop.fund(50 * USD)
    digest = shop.vault.read("terms")[0][9]
    opened = told.one("PurseOpened")
    assert opened == {
        "mandate": digest,
        "vault": shop.vault.address,
        "purse": opened["purse"],
    }
    assert shop.hub.read("purseOf", shop.vault.address) == (True, opened["purse"])
    funded = {"mandate": digest, "purse": opened["purse"], "amount": 50 * USD}
    assert told.one("PurseFunded") == funded | {"fundedToday": 50 * USD}
    later = shop.fund(30 * USD)
    assert "PurseOpened" not in later.names()
    assert later.one("PurseFunded")["fundedToday"] == 80 * USD
    assert shop.inside() == 80 * USD


def test_float_and_day_are_the_policys_where_it_has_lower_ones(world: World) -> None:
    shop = open_shop(world, world.hub(2 * USD, 10 * USD, 5 * USD), stopFloorBps=8_000)
    shop.fund(5 * USD)
    with refused("TargetReverted"):
        shop.fund(1)
    assert [shop.good(shop.bill(v)) for v in (2 * USD, 2 * USD + 1)] == [True, False]
    shop.pay(2 * USD)
    shop.fund(2 * USD)
    shop.drain()
    with refused("TargetReverted"):
        shop.fund(3 * USD + 1)
    assert shop.fund(3 * USD).one("PurseFunded")["fundedToday"] == 10 * USD
    shop.w.later(DAY)
    assert shop.fund(2 * USD).one("PurseFunded")["fundedToday"] == 2 * USD


def test_a_day_is_one_of_utc_from_midnight_to_midnight(world: World) -> None:
    shop = open_shop(world, world.hub(0, 10 * USD), stopFloorBps=8_000)

    def today() -> int:
        told: int = shop.fund(USD).one("PurseFunded")["fundedToday"]
        return told

    assert today() == USD
    world.later(6 * 3_600)
    assert today() == 2 * USD
    world.later(DAY - world.evm.time % DAY - 1)
    assert today() == 3 * USD
    world.later(1)
    assert today() == USD
    for _ in range(3):
        world.later(DAY)
        assert today() == USD


def test_what_is_over_is_told_with_its_numbers(world: World) -> None:
    shop = open_shop(world, world.hub(0, 10 * USD, 5 * USD), stopFloorBps=8_000)
    shop.fund(5 * USD)
    data = shop.hub.data("fund", USD)
    with refused("OverFloat", 6 * USD, 5 * USD):
        shop.w.evm.call(shop.vault.address, shop.hub.address, data)
    with refused("OverPurseDay", 11 * USD, 10 * USD):
        shop.w.evm.call(shop.vault.address, shop.hub.address, shop.hub.data("fund", 6 * USD))


@pytest.mark.parametrize("amount", [2**128, 2**128 + USD, 2**256 - 1, 2**256 - 100 * USD])
def test_an_amount_that_would_wrap_is_refused(shop: Shop, amount: int) -> None:
    with pytest.raises(Refusal) as why:
        shop.w.evm.call(shop.vault.address, shop.hub.address, shop.hub.data("fund", amount))
    assert why.value.name in ("OverPurseDay", "Error", "Panic")


def test_a_policy_above_the_mandate_is_the_mandate(world: World) -> None:
    shop = open_shop(world, world.hub(10**12, 10**12, 10**12), stopFloorBps=8_000)
    shop.fund(1)
    equal = open_shop(world, world.hub(200 * USD, 500 * USD, 500 * USD), stopFloorBps=8_000)
    equal.fund(1)
    terms = shop.vault.read("terms")[0]
    config = shop.purse.read("config")
    assert config[2:6] == equal.purse.read("config")[2:6]
    assert config[:6] == (
        shop.vault.address.lower(),
        world.owner.lower(),
        200 * USD,
        500 * USD,
        500 * USD,
        terms[6],
    )
    assert config[7:] == (NOBODY, terms[9])


def test_only_vaults_of_the_factory_are_served(world: World) -> None:
    shop = open_shop(world)
    with refused("NotAVault", world.stranger):
        shop.hub.send(world.stranger, "fund", 0)
    with refused("NotAVault", world.stranger):
        shop.hub.send(world.agent, "sweep", world.stranger)
    other = World()
    theirs = other.vault()
    mine = other.evm.deploy(
        "PurseHubDeployer",
        other.evm.deploy("MandateVaultFactory", other.usdc.address, other.keeper, False).address,
    )
    made = mine.send(other.stranger, "deploy", (0, 0, 0, NOBODY)).one("HubDeployed")["hub"]
    with refused("NotAVault", theirs.address):
        other.evm.at("PurseHub", made).send(other.stranger, "sweep", theirs.address)
    # A short piece of code that is no clone with arguments: a proxy of 45 bytes.
    proxy = bytes.fromhex("363d3d373d3d3d363d73" + "11" * 20 + "5af43d82803e903d91602b57fd5bf3")
    code = b"\x60" + bytes([len(proxy)]) + bytes.fromhex("80600a5f395ff3")
    small = other.evm.send(other.stranger, None, code.ljust(10, b"\0") + proxy).contract
    with refused("NotAVault", small):
        other.hub().send(other.stranger, "sweep", small)


# -- drain and sweep -----------------------------------------------------------------------------------


def test_drain_brings_back_what_is_left_and_never_more_than_was_put_in(shop: Shop) -> None:
    w = shop.w
    shop.pay(30 * USD)
    w.usdc.send(w.stranger, "transfer", shop.purse.address, 40 * USD)
    before, digest = w.balance(w.owner), shop.vault.read("terms")[0][9]
    told = {"mandate": digest, "purse": shop.purse.address}
    assert shop.drain().one("PurseDrained") == told | {"amount": 100 * USD, "toOwner": 10 * USD}
    assert (shop.inside(), w.balance(w.owner) - before) == (0, 10 * USD)
    assert shop.vault.read("totalReturned") == 100 * USD
    # What was taken out makes no room for a gift.
    w.usdc.send(w.stranger, "transfer", shop.purse.address, 7 * USD)
    assert shop.drain().one("PurseDrained") == told | {"amount": 0, "toOwner": 7 * USD}
    shop.fund(10 * USD)
    assert shop.drain().one("PurseDrained") == told | {"amount": 10 * USD, "toOwner": 0}
    empty = shop.drain()
    assert empty.one("PurseDrained") == told | {"amount": 0, "toOwner": 0}
    assert "Transfer" not in [e.name for e in empty.events]


def test_draining_nothing_opened_does_nothing(world: World) -> None:
    shop = open_shop(world)
    assert "PurseDrained" not in shop.drain().names()
    assert not shop.hub.read("purseOf", shop.vault.address)[0]


def test_an_owner_that_usdc_refuses_holds_no_drain_up(shop: Shop) -> None:
    w = shop.w
    w.usdc.send(w.stranger, "transfer", shop.purse.address, 7 * USD)
    w.usdc.send(w.stranger, "setBlacklisted", w.owner, True)
    told = shop.drain().one("PurseDrained")
    assert (told["amount"], told["toOwner"], shop.inside()) == (100 * USD, 0, 7 * USD)
    shop.drain()
    assert shop.vault.read("totalReturned") == 100 * USD
    w.usdc.send(w.stranger, "setBlacklisted", w.owner, False)
    assert shop.drain().one("PurseDrained")["toOwner"] == 7 * USD


def test_a_gift_above_the_float_keeps_no_purse_from_opening(world: World) -> None:
    shop = open_shop(world, world.hub(0, 0, 50 * USD), stopFloorBps=8_000)
    before = world.evm.chain.snapshot()
    shop.fund(0)
    purse = shop.purse.address
    world.evm.chain.revert(before)
    world.usdc.send(world.stranger, "transfer", purse, 51 * USD)
    with refused("TargetReverted"):
        shop.fund(1)
    shop.fund(0)
    assert shop.drain().one("PurseDrained")["toOwner"] == 51 * USD
    shop.fund(50 * USD)


def test_after_the_settlement_anybody_sweeps_all_to_the_owner(shop: Shop) -> None:
    w = shop.w
    with refused("MandateActive"):
        shop.hub.send(w.stranger, "sweep", shop.vault.address)
    shop.vault.send(w.owner, "withdrawAll")
    before, digest = w.balance(w.owner), shop.vault.read("terms")[0][9]
    told = shop.hub.send(w.stranger, "sweep", shop.vault.address).one("PurseDrained")
    assert told["mandate"] == digest
    assert (told["purse"], told["amount"], told["toOwner"]) == (shop.purse.address, 0, 100 * USD)
    assert (shop.inside(), w.balance(w.owner) - before) == (0, 100 * USD)
    assert shop.hub.send(w.stranger, "sweep", shop.vault.address).names() == []
    # What was swept is nothing that could still be returned.
    w.usdc.send(w.stranger, "transfer", shop.purse.address, 3 * USD)
    owner = w.balance(w.owner)
    w.unwind(shop.vault, w.owner, shop.hub, "drain")
    assert w.balance(w.owner) - owner == 3 * USD


def test_a_purse_that_was_never_opened_is_swept_too(world: World) -> None:
    shop = open_shop(world)
    before = world.evm.chain.snapshot()
    shop.fund(0)
    purse = shop.purse.address
    world.evm.chain.revert(before)
    world.usdc.send(world.stranger, "transfer", purse, 5 * USD)
    shop.vault.send(world.owner, "withdrawAll")
    told = shop.hub.send(world.stranger, "sweep", shop.vault.address)
    assert (told.one("PurseOpened")["purse"], told.one("PurseDrained")["toOwner"]) == (
        purse,
        5 * USD,
    )


def test_a_purse_moves_usdc_for_its_hub_alone(shop: Shop) -> None:
    for who in (shop.w.owner, shop.w.agent, shop.w.keeper):
        with refused("NotAuthorized", who):
            shop.purse.send(who, "send", who, USD)


# -- views -----------------------------------------------------------------------------------------------


def test_no_view_answers_a_probe_with_a_value(shop: Shop) -> None:
    asked = bytes(12) + bytes.fromhex(shop.vault.address[2:])
    hub = ("PER_PAYMENT", "PER_DAY", "FLOAT", "PAYEES", "FACTORY", "USDC", "PURSE")
    for where, names in ((shop.hub, hub), (shop.purse, ("config", "epoch"))):
        for name in names:
            where.read(name)
            with refused("NotAProbe"):
                shop.w.evm.call(ZERO, where.address, selector(f"{name}()") + asked)
    answer = shop.w.evm.call(ZERO, shop.hub.address, selector("purseOf(address)") + asked)
    assert int.from_bytes(answer[:32], "big") == 1


def test_a_hub_tells_its_policy_and_what_it_serves(world: World) -> None:
    hub = world.hub(1, 2, 3, payees=leaf(world.friend))
    told = [hub.read(n) for n in ("PER_PAYMENT", "PER_DAY", "FLOAT", "PAYEES")]
    assert told == [1, 2, 3, leaf(world.friend)]
    assert hub.read("FACTORY") == world.factory.address
    assert hub.read("USDC") == world.usdc.address
    assert world.evm.code(hub.read("PURSE"))


def test_the_code_of_purses_is_no_purse(shop: Shop) -> None:
    code = shop.w.evm.at("Purse", shop.hub.read("PURSE"))
    bill = shop.bill(USD)
    assert shop.answer(bill, code=code) == NO
    message = shop.w.bill_hash(code, bill)
    signed = shop.w.signed_bill(code, bill)
    assert code.read("isValidSignature", message, signed) == NO


def test_a_deployer_makes_a_hub_once_at_the_address_that_it_tells(world: World) -> None:
    deployer = world.evm.deploy("PurseHubDeployer", world.factory.address)
    policy = (1, 2, 3, NOBODY)
    told = deployer.read("hubOf", policy)
    first = deployer.send(world.stranger, "deploy", policy)
    assert first.one("HubDeployed")["hub"] == told
    assert deployer.send(world.agent, "deploy", policy).names() == []
    answer = world.evm.call(ZERO, deployer.address, deployer.data("deploy", policy))
    assert answer[-20:].hex() == told[2:].lower()
    assert deployer.read("hubOf", (1, 2, 4, NOBODY)) != told
    assert deployer.read("FACTORY") == world.factory.address
    assert world.evm.code(told)
