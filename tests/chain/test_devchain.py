"""The development chain: time, snapshots, reorganisations, its journal, and JSON-RPC that never breaks."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from eth_abi import encode
from eth_account import Account
from eth_utils import keccak
from hypothesis import given, settings
from hypothesis import strategies as st
from web3 import AsyncWeb3, Web3

from chain.contracts import abi_codec
from devtools.devchain import DevChain, RpcError, answer, serve
from devtools.devchain.rpc import METHODS
from devtools.devnet import IDLE_S, mine_if_idle
from tests.chain.providers import AsyncDevChainProvider, DevChainProvider

START = 1_800_000_000
TO = "0x" + "11" * 20


class Clock:
    def __init__(self) -> None:
        self.at = START

    def __call__(self) -> int:
        return self.at


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def chain(clock: Clock) -> Iterator[DevChain]:
    chain = DevChain(clock)
    yield chain
    chain.close()


def ask(chain: DevChain, method: str, *params: Any) -> Any:
    told = answer(chain, {"jsonrpc": "2.0", "id": 7, "method": method, "params": list(params)})
    assert told["id"] == 7
    if "error" in told:
        raise RpcError(told["error"]["code"], told["error"]["message"], told["error"].get("data"))
    return told["result"]


def pay(chain: DevChain, nonce: int, *, key: int = 0, **changes: Any) -> bytes:
    tx = {
        "type": 2, "chainId": chain.chain_id, "nonce": nonce, "to": TO, "value": 1, "gas": 21_000,
        "maxFeePerGas": 10**7, "maxPriorityFeePerGas": 0,
    } | changes  # fmt: skip
    return bytes(Account.sign_transaction(tx, chain.keys[key]).raw_transaction)


def usdc(chain: DevChain) -> str:
    sender = ask(chain, "eth_accounts")[0]
    deployment = {"from": sender, "data": abi_codec.artifact("TestUSDC")["bytecode"]}
    tx = ask(chain, "eth_sendTransaction", deployment)
    return str(ask(chain, "eth_getTransactionReceipt", tx)["contractAddress"])


def mint(chain: DevChain, token: str, amount: int) -> str:
    sender = ask(chain, "eth_accounts")[0]
    data = abi_codec.calldata("TestUSDC", "mint", (TO, amount))
    return str(ask(chain, "eth_sendTransaction", {"from": sender, "to": token, "data": data}))


def balance(chain: DevChain, token: str, tag: Any = "latest") -> int:
    call = {"to": token, "data": abi_codec.calldata("TestUSDC", "balanceOf", (TO,))}
    return int(ask(chain, "eth_call", call, tag), 16)


# -- time, snapshots, reorganisations ---------------------------------------------------------------------------


def test_blocks_carry_the_clock_and_never_go_back(chain: DevChain, clock: Clock) -> None:
    assert chain.head.timestamp == START
    assert [chain.mine().timestamp for _ in range(2)] == [START + 1, START + 2]
    clock.at += 100
    assert chain.mine().timestamp == START + 100
    ask(chain, "evm_increaseTime", 3_600)
    assert chain.mine().timestamp == START + 3_700
    ask(chain, "evm_setNextBlockTimestamp", START + 10_000)
    ask(chain, "evm_mine")
    assert chain.head.timestamp == START + 10_000
    with pytest.raises(RpcError, match="cannot be earlier"):
        ask(chain, "evm_setNextBlockTimestamp", START)
    ask(chain, "evm_mine", {"timestamp": START + 20_000})
    assert chain.head.timestamp == START + 20_000
    ask(chain, "anvil_mine", "0x3", "0x64")
    assert chain.head.timestamp >= START + 20_200


def test_a_refused_transaction_does_not_use_the_chosen_time_up(chain: DevChain) -> None:
    ask(chain, "evm_setNextBlockTimestamp", START + 500)
    with pytest.raises(RpcError, match="nonce too high"):
        chain.send_raw(pay(chain, 5))
    chain.send_raw(pay(chain, 0))
    assert chain.head.timestamp == START + 500


def test_a_snapshot_brings_state_time_and_logs_back(chain: DevChain) -> None:
    token = usdc(chain)
    snapshot = ask(chain, "evm_snapshot")
    before = chain.head
    tx = mint(chain, token, 5)
    ask(chain, "evm_increaseTime", 1_000)
    assert ask(chain, "evm_revert", snapshot) is True
    assert chain.head == before
    assert balance(chain, token) == 0
    assert chain.clock() == START
    assert ask(chain, "eth_getTransactionReceipt", tx) is None
    assert ask(chain, "eth_getLogs", {"fromBlock": "0x0"}) == []
    assert ask(chain, "evm_revert", snapshot) is False


def test_a_snapshot_below_a_reorganisation_is_gone(chain: DevChain) -> None:
    chain.mine()
    snapshot = chain.snapshot()
    chain.mine()
    chain.reorg(2)
    assert not chain.revert(snapshot)


def test_a_reorganisation_mines_anew_and_drops_what_it_is_told(chain: DevChain) -> None:
    token = usdc(chain)
    kept, dropped = mint(chain, token, 5), mint(chain, token, 7)
    old = [b.hash for b in chain.blocks]
    chain.reorg(2, drop={bytes.fromhex(dropped[2:])})
    new = [b.hash for b in chain.blocks]
    assert (len(new), new[:2]) == (len(old), old[:2])
    assert not set(new[2:]) & set(old[2:])
    assert balance(chain, token) == 5
    assert ask(chain, "eth_getTransactionReceipt", kept)["blockHash"] == "0x" + new[2].hex()
    assert ask(chain, "eth_getTransactionReceipt", dropped) is None
    assert ask(chain, "eth_getBlockByHash", "0x" + old[-1].hex()) is None
    with pytest.raises(RpcError, match="unknown block"):
        ask(chain, "eth_getLogs", {"blockHash": "0x" + old[-1].hex()})


def test_a_transaction_whose_predecessor_was_dropped_does_not_come_back(chain: DevChain) -> None:
    first, second = chain.send_raw(pay(chain, 0)), chain.send_raw(pay(chain, 1))
    chain.reorg(2, drop={first})
    assert second not in chain.txs
    assert [len(b.txs) for b in chain.blocks[-2:]] == [0, 0]


@pytest.mark.parametrize("depth", [0, -1, 2, 10**30])
def test_an_impossible_depth_is_refused_and_changes_nothing(chain: DevChain, depth: int) -> None:
    chain.mine()
    before = list(chain.blocks)
    with pytest.raises(RpcError):
        ask(chain, "anvil_reorg", depth)
    assert chain.blocks == before


# -- execution --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"nonce": 3}, "nonce too high"),
        ({"gas": 10**9}, "block gas limit"),
        ({"gas": 20_000}, "gas"),
        ({"maxFeePerGas": 1}, "base fee"),
        ({"value": 10**30}, "balance"),
        ({"chainId": 1}, "chain id"),
        ({"to": b"", "data": b"\0" * 50_000, "gas": 50_000_000}, "limit"),
    ],
)
def test_a_transaction_that_cannot_be_mined_is_refused(
    chain: DevChain, changes: dict[str, Any], why: str
) -> None:
    with pytest.raises(RpcError, match=why):
        chain.send_raw(pay(chain, **{"nonce": 0} | changes))
    assert chain.head.number == 0


def test_a_transaction_is_known_once(chain: DevChain) -> None:
    chain.send_raw(pay(chain, 0))
    with pytest.raises(RpcError, match="already known"):
        chain.send_raw(pay(chain, 0))


def test_a_revert_is_mined_and_a_call_tells_its_data(chain: DevChain) -> None:
    token = usdc(chain)
    sender = ask(chain, "eth_accounts")[3]
    data = abi_codec.calldata("TestUSDC", "transfer", (TO, 1))
    call = {"from": sender, "to": token, "data": data}
    for method in ("eth_call", "eth_estimateGas"):
        with pytest.raises(RpcError) as caught:
            ask(chain, method, call)
        assert caught.value.code == 3
        assert caught.value.data is not None
        expected = keccak(text="ERC20InsufficientBalance(address,uint256,uint256)")[:4]
        assert caught.value.data[:10] == "0x" + expected.hex()
    tx = ask(chain, "eth_sendTransaction", {**call, "gas": "0x186a0"})
    receipt = ask(chain, "eth_getTransactionReceipt", tx)
    assert (receipt["status"], receipt["logs"]) == ("0x0", [])


def wanting(chain: DevChain, wants: int) -> str:
    """A contract that reverts unless it has more gas than that: if (gas() > wants) stop; revert."""
    code = "5a63" + wants.to_bytes(4, "big").hex() + "10600d575f5ffd5b00"
    made = {"from": ask(chain, "eth_accounts")[0], "data": "0x6e" + code + "5f52600f6011f3"}
    tx = ask(chain, "eth_sendTransaction", made)
    contract = ask(chain, "eth_getTransactionReceipt", tx)["contractAddress"]
    assert ask(chain, "eth_getCode", contract, "latest") == "0x" + code
    return str(contract)


def estimated(chain: DevChain, contract: str) -> None:
    """An estimate suffices, and is little above the least."""
    told = int(ask(chain, "eth_estimateGas", {"to": contract}), 16)
    assert ask(chain, "eth_call", {"to": contract, "gas": hex(told)}) == "0x"
    with pytest.raises(RpcError):
        ask(chain, "eth_call", {"to": contract, "gas": hex(told - max(1_000, told // 64) - 1)})


@pytest.mark.parametrize("wants", [0, 300, 2_500, 40_000, 600_000, 30_000_000])
def test_an_estimate_suffices_and_is_little_above_the_least(chain: DevChain, wants: int) -> None:
    estimated(chain, wanting(chain, wants))


def test_an_estimate_is_as_near_whatever_the_last_call_of_the_function_needed(
    chain: DevChain,
) -> None:
    contracts = {n: wanting(chain, n) for n in (0, 300, 2_500, 40_000, 600_000, 30_000_000)}
    for before in contracts.values():
        for contract in contracts.values():
            for called in (before, contract):
                estimated(chain, called)


def test_an_estimate_of_a_function_that_was_called_before_takes_three_runs(
    chain: DevChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    contract, runs = wanting(chain, 600_000), []
    computed = chain._computed
    monkeypatch.setattr(chain, "_computed", lambda *a: [runs.append(a), computed(*a)][1])
    counts = []
    for _ in range(2):
        runs.clear()
        ask(chain, "eth_estimateGas", {"to": contract})
        counts.append(len(runs))
    assert counts[0] > 8
    assert counts[1] == 3


@pytest.mark.slow
def test_calls_nest_as_deep_as_the_rules_allow(chain: DevChain) -> None:
    calls_itself = "5f5f5f5f5f305af100"  # CALL(gas, this, 0, 0, 0, 0, 0)
    init = "0x68" + calls_itself + "5f52" + "60096017f3"
    tx = ask(chain, "eth_sendTransaction", {"from": ask(chain, "eth_accounts")[0], "data": init})
    contract = ask(chain, "eth_getTransactionReceipt", tx)["contractAddress"]
    assert ask(chain, "eth_getCode", contract, "latest") == "0x" + calls_itself
    assert ask(chain, "eth_call", {"to": contract, "gas": hex(50_000_000)}) == "0x"


def test_state_is_read_at_the_block_asked_for(chain: DevChain) -> None:
    token = usdc(chain)
    mint(chain, token, 5)
    mint(chain, token, 7)
    second = {"blockHash": "0x" + chain.blocks[2].hash.hex()}
    told = [balance(chain, token, tag) for tag in ("0x1", "0x2", "latest", second)]
    assert told == [0, 5, 12, 5]
    with pytest.raises(RpcError, match="header not found"):
        balance(chain, token, "0x99")


def test_logs_are_found_by_address_topic_range_and_block(chain: DevChain) -> None:
    token, other = usdc(chain), usdc(chain)
    txs = [mint(chain, token, n) for n in (1, 2, 3)] + [mint(chain, other, 4)]
    to = "0x" + "00" * 12 + TO[2:]

    def found(**wanted: Any) -> list[str]:
        logs = ask(chain, "eth_getLogs", {"fromBlock": "earliest"} | wanted)
        return [log["transactionHash"] for log in logs]

    assert found() == txs
    assert found(address=[]) == txs
    assert found(address=token) == txs[:3]
    assert found(address=[token.lower(), other]) == txs
    assert found(topics=[abi_codec.ERC20_TRANSFER_TOPIC, None, [to]]) == txs
    assert found(topics=[None, [to]]) == []
    assert found(topics=[[], [], []]) == txs
    assert found(topics=[None] * 4) == []
    assert found(fromBlock="0x4", toBlock="0x5") == txs[1:3]
    assert found(fromBlock="0x5", toBlock="0x4") == []
    assert found(fromBlock="0x99") == []
    block = ask(chain, "eth_getTransactionReceipt", txs[2])["blockHash"]
    (log,) = ask(chain, "eth_getLogs", {"blockHash": block})
    assert log["transactionHash"] == txs[2]


def test_fees_receipts_and_blocks_have_what_wallets_read(chain: DevChain) -> None:
    tx = "0x" + chain.send_raw(pay(chain, 0)).hex()
    history = ask(chain, "eth_feeHistory", "0x2", "latest", [10, 50])
    assert len(history["baseFeePerGas"]) == len(history["gasUsedRatio"]) + 1 == 3
    block = ask(chain, "eth_getBlockByNumber", "latest", True)
    assert block["transactions"][0]["hash"] == tx
    assert ask(chain, "eth_getBlockReceipts", "latest")[0]["gasUsed"] == "0x5208"
    assert ask(chain, "eth_getTransactionByHash", tx)["from"] == ask(chain, "eth_accounts")[0]
    assert ask(chain, "eth_getTransactionCount", ask(chain, "eth_accounts")[0], "latest") == "0x1"


# -- the journal ------------------------------------------------------------------------------------------------


def test_a_journal_brings_the_same_blocks_back(tmp_path: Path, clock: Clock) -> None:
    journal = tmp_path / "chain.jsonl"
    chain = DevChain(clock, journal=journal)
    token = usdc(chain)
    mint(chain, token, 5)
    snapshot = chain.snapshot()
    mint(chain, token, 6)
    chain.revert(snapshot)
    gone = mint(chain, token, 7)
    mint(chain, token, 8)
    chain.reorg(2, drop={bytes.fromhex(gone[2:])})
    ask(chain, "evm_increaseTime", 5_000)
    mint(chain, token, 9)
    chain.close()
    clock.at += 60
    again = DevChain(clock, journal=journal)
    assert again.blocks == chain.blocks
    assert again.head.timestamp == START + 5_000
    assert balance(again, token) == balance(chain, token)
    assert again.clock() >= again.head.timestamp
    ahead = [b.hash for b in (again.mine(), again.mine())]
    again.close()
    third = DevChain(clock, journal=journal)
    assert [b.hash for b in third.blocks[-2:]] == ahead
    third.close()


def test_a_line_that_a_crash_cut_short_is_forgotten(tmp_path: Path, clock: Clock) -> None:
    journal = tmp_path / "chain.jsonl"
    chain = DevChain(clock, journal=journal)
    head = chain.mine()
    chain.mine()
    chain.close()
    journal.write_bytes(journal.read_bytes()[:-3])
    again = DevChain(clock, journal=journal)
    assert again.head.hash == head.hash
    newest = again.mine()
    again.close()
    third = DevChain(clock, journal=journal)
    assert third.head.hash == newest.hash
    third.close()


def test_a_journal_of_another_chain_is_refused(tmp_path: Path, clock: Clock) -> None:
    journal = tmp_path / "chain.jsonl"
    DevChain(clock, journal=journal).close()
    with pytest.raises(ValueError, match="not a journal of chain 1337"):
        DevChain(clock, 1337, journal)


# -- JSON-RPC ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (None, -32600), (5, -32600), ("x", -32600), ({}, -32600), ({"method": 5}, -32600), ([], -32600), ([{}] * 1_001, -32600),
        ({"method": "eth_nothing"}, -32601), ({"method": "eth_call", "params": {"a": 1}}, -32602),
        ({"method": "eth_call"}, -32602), ({"method": "eth_getBalance", "params": ["0x12", "latest"]}, -32602),
        ({"method": "eth_getBlockByNumber", "params": ["zz", False]}, -32602), ({"method": "eth_call", "params": [{"to": TO}, "0x99"]}, -32000),
        ({"method": "anvil_mine", "params": [10**9]}, -32602), ({"method": "evm_increaseTime", "params": [-5]}, -32602),
        ({"method": "anvil_reorg", "params": [1, [["0x00", 0]]]}, -32602),
        ({"method": "evm_setNextBlockTimestamp", "params": ["0x" + "f" * 80]}, -32602),
        ({"method": "eth_sendRawTransaction", "params": ["0x02c0"]}, -32000),
    ],
)  # fmt: skip
def test_a_wrong_request_is_answered_with_its_code(
    chain: DevChain, request_: Any, code: int
) -> None:
    assert answer(chain, request_)["error"]["code"] == code
    assert chain.head.number == 0


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=8)
    | st.sampled_from(["latest", "0x", "0x1", TO, "0x" + "ff" * 32]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "to",
                    "from",
                    "data",
                    "topics",
                    "address",
                    "fromBlock",
                    "blockHash",
                    "value",
                    "gas",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=6,
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    method=st.sampled_from(sorted(METHODS.keys() - {"anvil_mine"})),
    params=st.lists(anything, max_size=3),
)
def test_whatever_the_params_the_answer_is_json_rpc(method: str, params: list[Any]) -> None:
    told = answer(FUZZED, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    assert told["jsonrpc"] == "2.0"
    assert ("result" in told) != ("error" in told)
    json.dumps(told)


FUZZED = DevChain(lambda: START)


def test_a_batch_keeps_its_order_and_its_faults(chain: DevChain) -> None:
    batch = [
        {"id": 1, "method": "eth_chainId"},
        {"id": 2, "method": "no"},
        3,
        {"id": 4, "method": "eth_blockNumber"},
    ]
    told = answer(chain, batch)
    assert [t["id"] for t in told] == [1, 2, None, 4]
    assert [t.get("result") for t in told] == ["0x7a69", None, None, "0x0"]


@pytest.mark.slow
def test_importing_the_chain_does_not_import_web3() -> None:
    code = "import sys, devtools.devchain; sys.exit('web3' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_web3_uses_it_in_this_process(chain: DevChain) -> None:
    token = usdc(chain)
    web3 = Web3(DevChainProvider(chain))
    assert web3.is_connected()
    contract = web3.eth.contract(
        address=web3.to_checksum_address(token), abi=abi_codec.artifact("TestUSDC")["abi"]
    )
    web3.eth.wait_for_transaction_receipt(
        contract.functions.mint(web3.eth.accounts[1], 9).transact({"from": web3.eth.accounts[0]})
    )
    assert contract.functions.balanceOf(web3.eth.accounts[1]).call() == 9
    assert contract.events.Transfer().get_logs(from_block=0)[0]["args"]["value"] == 9


@pytest.mark.anyio
async def test_web3_uses_it_in_this_event_loop(chain: DevChain) -> None:
    web3 = AsyncWeb3(AsyncDevChainProvider(chain))
    sent = await web3.eth.send_transaction(
        {
            "from": (await web3.eth.accounts)[0],
            "to": web3.to_checksum_address(TO),
            "value": web3.to_wei(1, "gwei"),
        }
    )
    assert (await web3.eth.wait_for_transaction_receipt(sent))["status"] == 1


# -- HTTP -------------------------------------------------------------------------------------------------------


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 200, -32700), (b"{", 200, -32700), (b"\xff\xfe", 200, -32700), (b"[" * 100_000, 200, -32700),
        (b'"' + b"a" * (5 * 2**20) + b'"', 413, -32600), (b"[]", 200, -32600),
    ],
)  # fmt: skip
async def test_a_bad_body_is_a_json_rpc_error(
    chain: DevChain, body: bytes, status: int, code: int
) -> None:
    runner, url = await serve(chain)
    async with aiohttp.ClientSession() as session, session.post(url, data=io.BytesIO(body)) as told:
        assert told.status == status
        assert (await told.json())["error"]["code"] == code
    await runner.cleanup()


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200), ({"Origin": "http://localhost:3000"}, 200), ({"Origin": "http://127.0.0.1:8402"}, 200), ({"Origin": "http://[::1]:1"}, 200),
        ({"Origin": "https://evil.example"}, 403), ({"Origin": "null"}, 403), ({"Origin": "http://127.0.0.1.evil.example"}, 403),
        ({"Origin": "http://[::1"}, 403), ({"Host": "evil.example"}, 403),
    ],
)  # fmt: skip
async def test_only_pages_of_this_machine_may_use_it(
    chain: DevChain, headers: dict[str, str], status: int
) -> None:
    runner, url = await serve(chain)
    body = {"jsonrpc": "2.0", "id": 1, "method": "evm_mine", "params": []}
    async with aiohttp.ClientSession() as session:
        async with session.post(url, json=body, headers=headers) as told:
            assert told.status == status
            allowed = headers.get("Origin") if status == 200 else None
            assert told.headers.get("Access-Control-Allow-Origin") == allowed
        async with session.options(url, headers=headers) as told:
            assert told.status == (204 if status == 200 else 403)
    assert chain.head.number == (1 if status == 200 else 0)
    await runner.cleanup()


def test_encoding_of_constructor_arguments_is_ours(chain: DevChain) -> None:
    token = usdc(chain)
    data = abi_codec.artifact("TestMarket")["bytecode"] + encode(["address"], [token]).hex()
    tx = ask(chain, "eth_sendTransaction", {"from": ask(chain, "eth_accounts")[0], "data": data})
    market = ask(chain, "eth_getTransactionReceipt", tx)["contractAddress"]
    assert ask(chain, "eth_getCode", market, "latest") != "0x"
    assert chain.created() == [token, market]


def test_a_chain_on_which_nothing_is_sent_goes_with_the_time(chain: DevChain, clock: Clock) -> None:
    mine_if_idle(chain)
    assert chain.head.number == 0
    clock.at += IDLE_S
    for _ in range(2):
        mine_if_idle(chain)
        assert (chain.head.number, chain.head.timestamp) == (1, clock.at)
