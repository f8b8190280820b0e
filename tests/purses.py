"""Payments out of purses: bills that the agent signs, and whoever settles them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from chain.contracts import abi_codec, purse
from devtools.local_wallet import LocalWallet
from domain.chain_facts import Call
from domain.mandates.purses import BillTerms, PurseTerms, TokenDomain
from domain.money import Usdc
from tests.tools.paying import hub_of
from tests.world import CHAIN_ID, Mandated, World, working
from tools.model.serialization import wire

USDC = TokenDomain(name="USDC", version="2")
PAYEE = "0x" + "00" * 18 + "a11c"
URL = "https://data.example/report"
GAS = 900_000


@dataclass
class Purse:
    """A mandate with its purse."""

    m: Mandated
    hub: str
    address: str
    terms: PurseTerms
    salts: int = 0

    @property
    def world(self) -> World:
        return self.m.world

    async def mined(self, wallet: Any, call: Any) -> str:
        ok, tx = await self.world.mined(wallet, dict(wire(call)), gas=GAS)
        assert ok
        return tx

    async def fund(self, amount: str) -> str:
        chain, usdc = self.world.chains.get(CHAIN_ID), Usdc.parse(amount)
        data = chain.purse_call("fund", usdc)
        call = chain.vault_call(self.m.vault, "execute", self.hub, data, usdc)
        return await self.mined(self.m.agent_wallet, call)

    async def drain(self) -> str:
        chain = self.world.chains.get(CHAIN_ID)
        data = chain.purse_call("drain")
        call = chain.vault_call(self.m.vault, "execute", self.hub, data, Usdc(0))
        return await self.mined(self.m.agent_wallet, call)

    async def void(self) -> str:
        call = Call(CHAIN_ID, self.address, abi_codec.calldata("Purse", "void", ()))
        return await self.mined(self.m.owner_wallet, call)

    def bill(self, amount: str, pay_to: str = PAYEE, *, epoch: int = 0) -> BillTerms:
        """The next bill; no two have one nonce."""
        self.salts += 1
        now = self.world.evm.chain.head.timestamp
        return BillTerms(
            pay_to=pay_to, amount=Usdc.parse(amount), valid_after=now - 60, valid_before=now + 3_000,
            nonce=purse.bill_nonce(epoch, URL, pay_to, self.salt),
        )  # fmt: skip

    @property
    def salt(self) -> str:
        """That of the newest bill."""
        return f"0x{self.salts:064x}"

    def settlement(self, bill: BillTerms) -> Call:
        """The transaction that settles a bill, whoever sends it."""
        chain = self.world.chains.get(CHAIN_ID)
        document = chain.bill_typed_data(self.address, USDC, bill)
        signature = chain.bill_signature(bill, self.m.agent_wallet.sign_typed(document))
        words = (self.address, bill.pay_to, bill.amount.micros, bill.valid_after, bill.valid_before)
        data = abi_codec.function_call(
            "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)",
            [*words, bytes.fromhex(bill.nonce[2:]), bytes.fromhex(signature[2:])],  # type: ignore[list-item]
        )
        return Call(CHAIN_ID, self.world.evm.usdc, data)

    async def pay(self, amount: str, pay_to: str = PAYEE, **more: Any) -> str:
        """A seller settles a bill of the agent; the transaction."""
        return await self.mined(
            self.m.owner_wallet, self.settlement(self.bill(amount, pay_to, **more))
        )

    async def read(self) -> dict[str, Any]:
        """What the mandate read tells of the purse."""
        told = await self.world.ok("mandate_get", self.m.owner, public_id=self.m.id, parts="x402")
        return dict(told["x402"])

    async def balance(self) -> str:
        told = await self.world.chains.get(CHAIN_ID).purse_states([self.address])
        return str(told[self.address.lower()].balance)

    async def rows(self) -> list[dict[str, Any]]:
        """The rows by the chain about the purse, oldest first."""
        events = (await self.m.read())["events"]
        own = [e for e in events if {"purse", "purse_moved"} & e["payload"].keys()]
        return own[::-1]


async def at_once(world: World, wallet: LocalWallet, calls: Sequence[Call]) -> str:
    """Several calls in one transaction: the constructor of a contract makes them."""
    head, data = b"", b"".join(bytes.fromhex(c.data[2:]) for c in calls)
    length, offset = 60 * len(calls), 0
    for call in calls:
        size = len(call.data) // 2 - 1
        # CODECOPY(0, where its data begins, size); CALL(gas, to, 0, 0, size, 0, 0); POP
        head += b"\x61" + size.to_bytes(2, "big") + b"\x61" + (length + offset).to_bytes(2, "big")
        head += (
            bytes.fromhex("600039") + bytes.fromhex("60006000") + b"\x61" + size.to_bytes(2, "big")
        )
        head += bytes.fromhex("60006000") + b"\x73" + bytes.fromhex(call.to[2:])
        head += bytes.fromhex("5af150")
        offset += size
    head = head.ljust(length, b"\x00")  # STOP
    account = wallet._account
    nonce = await wallet._web3.eth.get_transaction_count(account.address)
    unsigned = {
        "chainId": CHAIN_ID, "nonce": nonce, "gas": 2_000_000, "data": "0x" + (head + data).hex(),
        "value": 0, "maxFeePerGas": 10**12, "maxPriorityFeePerGas": 0, "type": 2,
    }  # fmt: skip
    raw = bytes(account.sign_transaction(unsigned).raw_transaction)
    return "0x" + world.evm.chain.send_raw(raw).hex()


async def opened(
    world: World, *, hosts: Sequence[str] = (), purse: Any = None, **terms: Any
) -> Purse:
    """A working mandate with a purse that was never opened."""
    targets = [{"kind": "vault"}, {"kind": "x402", "hosts": list(hosts), "purse": purse or {}}]
    m = await working(world, allowed_targets=targets, **terms)
    (known,) = await world.store.read(lambda uow: uow.chainlog.purses_of(m.id))
    kept = await world.store.read(lambda uow: uow.mandates.get(m.id))
    assert kept is not None
    assert kept.purse is not None
    return Purse(m, await hub_of(m), abi_codec.checksummed(known.address), kept.purse)
