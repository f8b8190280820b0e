"""A world on the embedded EVM: accounts, the deployed contracts, terms, signatures, and refusals by name."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from eth_abi import decode, encode
from eth_account import Account
from eth_account.messages import encode_typed_data
from eth_utils import keccak, to_checksum_address

from devtools.devchain import RpcError
from tests.remembered import RememberingChain

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDERS: Final = (ROOT / "chain" / "abi", Path(__file__).parent / "artifacts")
DAY: Final = 86_400
START: Final = 1_800_000_000 - 1_800_000_000 % DAY + 9 * 3600  # nine in the morning, UTC
ZERO: Final = "0x" + "00" * 20
USD: Final = 10**6
GAS: Final = 3_000_000
SILENT: Final = 2**256 - 1  # what the vault tells of a probe that did not answer
CALLS: Final = "(address,bytes4,uint32)[]"
PROBES: Final = "(address,bytes4)[]"
BILL: Final = ["address", "uint256", "uint256", "uint256", "bytes32"]
TRANSFER: Final = keccak(
    text="TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
)
PAY: Final = bytes.fromhex("cf092995")  # transferWithAuthorization with a signature as bytes
TERMS: Final = {
    "publicId": "string",
    "owner": "address",
    "agent": "address",
    "budgetUsdc": "uint256",
    "perTxCap": "uint256",
    "dailyCap": "uint256",
    "stopFloor": "uint256",
    "stopFloorBps": "uint16",
    "horizonDays": "uint32",
    "endsAt": "uint64",
    "agentFeeBps": "uint16",
    "approvalAbove": "uint256",
    "onFloor": "uint8",
    "allowedTargetsHash": "bytes32",
    "guardTargetsHash": "bytes32",
    "issuedAt": "uint64",
    "nonce": "uint256",
}
OWNER_STOP, AGENT_STOP, FLOOR_STOP, WITHDRAW_STOP = 1, 2, 3, 4

Args = dict[str, Any]
Bill = tuple[str, int, int, int, bytes]


def selector(signature: str) -> bytes:
    return keccak(text=signature)[:4]


@cache
def artifact(name: str) -> Any:
    for folder in FOLDERS:
        if (folder / f"{name}.json").exists():
            return json.loads((folder / f"{name}.json").read_text())
    raise KeyError(name)


def kind(entry: Any) -> str:
    told: str = entry["type"]
    if told.startswith("tuple"):
        return (
            "(" + ",".join(kind(c) for c in entry["components"]) + ")" + told.removeprefix("tuple")
        )
    return told


def kinds(entries: Any) -> list[str]:
    return [kind(e) for e in entries]


def decoded(inputs: Any, data: bytes) -> list[Any]:
    """The values of `inputs`, addresses in EIP-55."""
    found = decode(kinds(inputs), data)
    return [
        to_checksum_address(v) if kind(i) == "address" else v
        for i, v in zip(inputs, found, strict=True)
    ]


@cache
def entries(name: str, what: str) -> dict[str, Any]:
    return {e["name"]: e for e in artifact(name)["abi"] if e["type"] == what}


@cache
def errors() -> dict[bytes, Any]:
    found: dict[bytes, Any] = {
        selector(f"{name}({type_})"): {"name": name, "inputs": [{"name": what, "type": type_}]}
        for name, what, type_ in (("Error", "text", "string"), ("Panic", "code", "uint256"))
    }
    for folder in FOLDERS:
        for path in folder.glob("*.json"):
            for e in entries(path.stem, "error").values():
                found[selector(f"{e['name']}({','.join(kinds(e['inputs']))})")] = e
    return found


class Refusal(Exception):
    """A revert, by the name and the arguments of its Solidity error."""

    def __init__(self, data: bytes):
        e = errors().get(data[:4])
        self.data = data
        self.name: str = e["name"] if e else ("empty" if not data else "unknown")
        values = decoded(e["inputs"], data[4:]) if e else []
        self.args_: Args = {
            i["name"]: v for i, v in zip(e["inputs"] if e else (), values, strict=True)
        }
        super().__init__(f"{self.name}({', '.join(map(str, values))})")


@contextmanager
def refused(name: str, *args: Any) -> Iterator[None]:
    """What is done inside must revert with this error; arguments are compared as far as they are given."""
    with pytest.raises(Refusal) as caught:
        yield
    assert (caught.value.name, *list(caught.value.args_.values())[: len(args)]) == (name, *args)


@dataclass(frozen=True)
class Event:
    name: str
    address: str
    args: Args


@dataclass(frozen=True)
class Receipt:
    gas: int
    events: tuple[Event, ...]
    contract: str | None

    def one(self, name: str) -> Args:
        (event,) = [e for e in self.events if e.name == name]
        return event.args

    def names(self) -> list[str]:
        return [e.name for e in self.events if e.name not in ("Transfer", "Approval")]


class Evm:
    """One chain whose clock is `time`, unix seconds; every transaction is mined at exactly that time."""

    def __init__(self) -> None:
        self.time = START
        self.chain = RememberingChain(lambda: self.time)
        self.people = [to_checksum_address(a) for a in self.chain.accounts]
        self.keys = {to_checksum_address(a): k for a, k in self.chain.accounts.items()}
        self.names: dict[str, str] = {}

    def state(self) -> Any:
        head = self.chain.head
        return self.chain.state_at(head.number, head.timestamp, head.root)

    def nonce(self, account: str) -> int:
        return int(self.state().get_nonce(bytes.fromhex(account[2:])))

    def code(self, account: str) -> bytes:
        return bytes(self.state().get_code(bytes.fromhex(account[2:])))

    def send(
        self,
        by: str,
        to: str | None,
        data: bytes,
        *,
        gas: int = GAS,
        value: int = 0,
        authorizations: Sequence[Any] = (),
    ) -> Receipt:
        """Mine one transaction.

        Errors: Refusal where it reverts; the chain is then as if it had never been sent.
        """
        tx: Args = {
            "type": 2, "chainId": self.chain.chain_id, "nonce": self.nonce(by), "to": to or b"", "value": value, "gas": gas,
            "data": data, "maxFeePerGas": 2_000_000, "maxPriorityFeePerGas": 0,
        }  # fmt: skip
        if authorizations:
            tx |= {"type": 4, "authorizationList": list(authorizations)}
        raw = bytes(Account.sign_transaction(tx, self.keys[by]).raw_transaction)
        mined = self.chain.txs[self.chain.send_raw(raw, self.time)][1]
        if not mined.status:
            self.chain.truncate(self.chain.head.number - 1)
            self.call(by, to, data, gas=gas, value=value)
            raise AssertionError("the transaction failed, its replay did not")
        contract = to_checksum_address(mined.contract) if mined.contract else None
        return Receipt(mined.gas_used, tuple(self._events(mined.logs)), contract)

    def call(self, by: str, to: str | None, data: bytes, *, gas: int = 0, value: int = 0) -> bytes:
        asked = {"from": by, "data": "0x" + data.hex(), "value": hex(value)}
        if to:
            asked["to"] = to
        if gas:  # what a transaction pays before its first instruction, a call pays too
            asked["gas"] = hex(gas)
        try:
            return self.chain.call(asked)
        except RpcError as error:
            raise Refusal(bytes.fromhex((error.data or "0x")[2:])) from None

    def _events(self, logs: Sequence[tuple[bytes, list[int], bytes]]) -> list[Event]:
        found = []
        for address, topics, data in logs:
            where = to_checksum_address(address)
            by_topic = {
                keccak(text=f"{e['name']}({','.join(kinds(e['inputs']))})"): e
                for e in entries(self.names.get(where, "MandateVault"), "event").values()
            }
            e = by_topic.get(topics[0].to_bytes(32, "big")) if topics else None
            if e is None:
                continue
            rest = iter(decoded([i for i in e["inputs"] if not i["indexed"]], data))
            marked = iter(topics[1:])
            args = {
                i["name"]: decoded([i], next(marked).to_bytes(32, "big"))[0]
                if i["indexed"]
                else next(rest)
                for i in e["inputs"]
            }
            found.append(Event(e["name"], where, args))
        return found

    def deploy(
        self, name: str, *args: Any, by: str | None = None, gas: int = 8_000_000
    ) -> Contract:
        inputs = next(
            (e["inputs"] for e in artifact(name)["abi"] if e["type"] == "constructor"), []
        )
        data = bytes.fromhex(artifact(name)["bytecode"][2:]) + encode(kinds(inputs), args)
        made = self.send(by or self.people[9], None, data, gas=gas).contract
        assert made is not None
        return self.at(name, made)

    def at(self, name: str, address: str) -> Contract:
        self.names[to_checksum_address(address)] = name
        return Contract(self, name, to_checksum_address(address))


@dataclass(frozen=True)
class Contract:
    """A deployed contract: `data` encodes, `read` calls, `send` mines."""

    evm: Evm
    name: str
    address: str

    def data(self, function: str, *args: Any) -> bytes:
        inputs = kinds(entries(self.name, "function")[function]["inputs"])
        return selector(f"{function}({','.join(inputs)})") + encode(inputs, args)

    def read(self, function: str, *args: Any, by: str = ZERO) -> Any:
        answer = self.evm.call(by, self.address, self.data(function, *args))
        values = decoded(entries(self.name, "function")[function]["outputs"], answer)
        return values[0] if len(values) == 1 else tuple(values)

    def send(self, by: str, function: str, *args: Any, gas: int = GAS, value: int = 0) -> Receipt:
        return self.evm.send(by, self.address, self.data(function, *args), gas=gas, value=value)


DEPOSIT: Final = selector("deposit(uint256,address)")
REDEEM: Final = selector("redeem(uint256,address,address)")
WITHDRAW: Final = selector("withdraw(uint256,address,address)")
MAX_WITHDRAW: Final = selector("maxWithdraw(address)")
WORTH_OF: Final = selector("worthOf(address)")
HOSTILE: Final = (
    "take(uint256)", "takeFrom(address,uint256)", "give(uint256)", "reenter(uint256)", "returnFalse()", "burnGas()", "bomb()",
    "forge()", "exit(uint256,uint256)",
)  # fmt: skip


# Every function of a vault that changes something, with arguments of its types.
CHANGING: Final[tuple[tuple[Any, ...], ...]] = (
    ("deposit", 1), ("sync",), ("execute", ZERO, b"", 0), ("executeApproved", ZERO, b"", 0, 0, b""), ("unwind", ZERO, b""),
    ("stop",), ("revokeAgent",), ("setAgent", ZERO), ("withdrawAll",), ("settle",), ("payAgent",), ("mark",), ("record",),
)  # fmt: skip


class World:
    """USDC, a market, hostile targets, factory and lens, and ten people."""

    def __init__(self, currency: str = "TestUSDC", *, approvals_on_chain: bool = False) -> None:
        self.evm = Evm()
        self.owner, self.agent, self.keeper, self.stranger, self.friend = self.evm.people[:5]
        self.usdc = self.evm.deploy(currency)
        self.factory = self.evm.deploy(
            "MandateVaultFactory", self.usdc.address, self.keeper, approvals_on_chain
        )
        self.lens = self.evm.deploy("VaultLens")
        self.market = self.evm.deploy("TestMarket", self.usdc.address)
        self.hostile = self.evm.deploy("HostileTarget", self.usdc.address)
        self.slip = self.evm.deploy("SlipMarket", self.usdc.address)
        for who in (self.owner, self.agent, self.stranger):
            self.usdc.send(self.evm.people[9], "mint", who, 1_000_000 * USD)
        self.usdc.send(self.evm.people[9], "mint", self.hostile.address, 1_000 * USD)
        self.mandates = 0

    # -- terms -----------------------------------------------------------------------------------------------

    def calls(self) -> list[tuple[str, bytes, int]]:
        """The market with its receivers pinned, and every trick of the hostile targets."""
        pinned = [(self.market.address, DEPOSIT, 0b10), (self.market.address, REDEEM, 0b110)]
        tricks = [(self.hostile.address, selector(s), 0) for s in HOSTILE]
        slips = ("buy(uint256,uint256)", "sell(uint256,uint256)", "refund(uint256)")
        return pinned + tricks + [(self.slip.address, selector(s), 0) for s in slips]

    def probes(self) -> list[tuple[str, bytes]]:
        targets = ((self.market, MAX_WITHDRAW), (self.hostile, WORTH_OF), (self.slip, WORTH_OF))
        return [(t.address, s) for t, s in targets]

    def terms(self, calls: Any = None, probes: Any = None, **over: Any) -> Args:
        """Budget 1,000, per action 200, per day 500, floor 20% down, 30 days, fee 10%."""
        self.mandates += 1
        calls = self.calls() if calls is None else calls
        probes = self.probes() if probes is None else probes
        t: Args = {
            "publicId": f"m_{self.mandates:010d}", "owner": self.owner, "agent": self.agent, "budgetUsdc": 1_000 * USD,
            "perTxCap": 200 * USD, "dailyCap": 500 * USD, "stopFloorBps": 2_000, "horizonDays": 30, "agentFeeBps": 1_000,
            "approvalAbove": 0, "onFloor": 1, "allowedTargetsHash": keccak(encode([CALLS, PROBES], [calls, probes])),
            "guardTargetsHash": keccak(b"[]"), "issuedAt": self.evm.time, "nonce": self.mandates,
        }  # fmt: skip
        t |= over
        t.setdefault("stopFloor", t["budgetUsdc"] * (10_000 - t["stopFloorBps"]) // 10_000)
        t.setdefault("endsAt", t["issuedAt"] + t["horizonDays"] * DAY)
        return {name: t[name] for name in TERMS}

    def typed_data(self, t: Args, **domain: Any) -> Args:
        own = {"name": "string", "version": "string", "chainId": "uint256"}
        own["verifyingContract"] = "address"
        factory = {"verifyingContract": self.factory.address}
        d = {"name": "MandateVault", "version": "2", "chainId": 31337} | factory | domain
        return {
            "domain": d, "primaryType": "MandateTerms", "message": t,
            "types": {
                "EIP712Domain": [{"name": n, "type": own[n]} for n in d],
                "MandateTerms": [{"name": n, "type": k} for n, k in TERMS.items()],
            },
        }  # fmt: skip

    def sign(self, t: Args, by: str | None = None, **domain: Any) -> bytes:
        signable = encode_typed_data(full_message=self.typed_data(t, **domain))
        return bytes(Account.sign_message(signable, self.evm.keys[by or self.owner]).signature)

    def create_data(
        self, t: Args, calls: Any = None, probes: Any = None, signature: bytes = b""
    ) -> tuple[Any, ...]:
        calls = self.calls() if calls is None else calls
        return (tuple(t.values()), calls, self.probes() if probes is None else probes, signature)

    def create(
        self, t: Args | None = None, calls: Any = None, probes: Any = None, by: str | None = None
    ) -> Contract:
        """A vault without money, made by its owner."""
        t = t or self.terms(calls, probes)
        made = self.factory.send(
            by or t["owner"], "create", *self.create_data(t, calls, probes)
        ).one("MandateCreated")
        return self.evm.at("MandateVault", made["vault"])

    def vault(
        self, deposit: int = 1_000 * USD, calls: Any = None, probes: Any = None, **over: Any
    ) -> Contract:
        """A vault with money in it."""
        vault = self.create(self.terms(calls, probes, **over), calls, probes)
        if deposit:
            self.deposit(vault, deposit)
        return vault

    # -- purse -----------------------------------------------------------------------------------------------

    def hub(
        self, per_payment: int = 0, per_day: int = 0, float_: int = 0, payees: bytes = bytes(32)
    ) -> Contract:
        """The hub of a policy, in USDC base units; 0: as the mandate says."""
        deployer = self.evm.deploy("PurseHubDeployer", self.factory.address)
        made = deployer.send(self.stranger, "deploy", (per_payment, per_day, float_, payees)).one(
            "HubDeployed"
        )
        return self.evm.at("PurseHub", made["hub"])

    def purse(self, hub: Contract, vault: Contract) -> Contract:
        return self.evm.at("Purse", hub.read("purseOf", vault.address)[1])

    def bill(self, purse: Contract, to: str, value: int, n: int) -> Bill:
        """(to, value, from, until, nonce), good for ten minutes."""
        nonce = purse.read("epoch").to_bytes(4, "big") + n.to_bytes(28, "big")
        return to, value, self.evm.time - 1, self.evm.time + 600, nonce

    def bill_hash(self, purse: Contract, bill: Bill) -> bytes:
        message = keccak(encode(["bytes32", "address", *BILL], [TRANSFER, purse.address, *bill]))
        return keccak(b"\x19\x01" + self.usdc.read("DOMAIN_SEPARATOR") + message)

    def signed_bill(self, purse: Contract, bill: Bill, by: str | None = None) -> bytes:
        key = self.evm.keys[by or self.agent]
        signature = Account.unsafe_sign_hash(self.bill_hash(purse, bill), key).signature
        return encode(BILL, bill) + bytes(signature)

    def settle_bill(self, purse: Contract, bill: Bill, signature: bytes | None = None) -> Receipt:
        """Anybody settles it, through USDC."""
        signature = self.signed_bill(purse, bill) if signature is None else signature
        told = encode(["address", *BILL, "bytes"], [purse.address, *bill, signature])
        return self.evm.send(self.stranger, self.usdc.address, PAY + told)

    # -- story -----------------------------------------------------------------------------------------------

    def deposit(self, vault: Contract, amount: int) -> Receipt:
        self.usdc.send(self.owner, "approve", vault.address, amount)
        return vault.send(self.owner, "deposit", amount)

    def balance(self, who: str | Contract) -> int:
        return int(self.usdc.read("balanceOf", who if isinstance(who, str) else who.address))

    def act(
        self,
        vault: Contract,
        target: Contract,
        function: str,
        *args: Any,
        approve: int = 0,
        by: str | None = None,
        gas: int = GAS,
    ) -> Receipt:
        data = target.data(function, *args)
        return vault.send(by or self.agent, "execute", target.address, data, approve, gas=gas)

    def take(self, vault: Contract, amount: int) -> Receipt:
        """The agent loses `amount` to the hostile target."""
        return self.act(vault, self.hostile, "take", amount, approve=amount)

    def give(self, vault: Contract, amount: int) -> Receipt:
        """A listed call brings `amount` back."""
        return self.act(vault, self.hostile, "give", amount)

    def invest(self, vault: Contract, amount: int) -> Receipt:
        return self.act(vault, self.market, "deposit", amount, vault.address, approve=amount)

    def redeem(self, vault: Contract, shares: int) -> Receipt:
        return self.act(vault, self.market, "redeem", shares, vault.address, vault.address)

    def unwind(
        self, vault: Contract, by: str, target: Contract, function: str, *args: Any
    ) -> Receipt:
        return vault.send(by, "unwind", target.address, target.data(function, *args))

    def later(self, seconds: int) -> None:
        self.evm.time += seconds
