"""JSON-RPC over a development chain: the methods that wallets and web3 libraries call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from eth_account import Account
from eth_utils import ValidationError, to_checksum_address

from devtools.devchain.blocks import (
    BASE_FEE,
    NO_BLOOM,
    Block,
    Mined,
    RpcError,
    from_hex,
    to_hex,
)
from devtools.devchain.core import DevChain

LARGEST_BATCH: Final = 1_000
LARGEST_MINE: Final = 10_000
LATEST_TIME: Final = 2**40  # unix seconds
_MISFIT: Final = (
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    OverflowError,
    ValidationError,
)
Method = Callable[[DevChain, list[Any]], Any]


def answer(chain: DevChain, request: Any) -> Any:
    """Answer one request object or a batch; whatever is wrong becomes a JSON-RPC error, never a
    traceback.
    """
    if isinstance(request, list):
        if not 0 < len(request) <= LARGEST_BATCH:
            return error(None, -32600, f"a batch holds 1 to {LARGEST_BATCH} requests")
        return [_answer_one(chain, one) for one in request]
    return _answer_one(chain, request)


def _answer_one(chain: DevChain, request: Any) -> dict[str, object]:
    if not isinstance(request, dict) or not isinstance(request.get("method"), str):
        return error(None, -32600, "not a request object")
    number, params = request.get("id"), request.get("params") or []
    method = METHODS.get(request["method"])
    if method is None:
        return error(number, -32601, f"the method {request['method'][:60]} does not exist")
    if not isinstance(params, list):
        return error(number, -32602, "params is a list")
    try:
        with chain.lock:
            return {"jsonrpc": "2.0", "id": number, "result": method(chain, params)}
    except RpcError as fault:
        return error(number, fault.code, str(fault), fault.data)
    except _MISFIT as fault:
        return error(number, -32602, f"params not understood: {type(fault).__name__}")
    except Exception as fault:  # a development chain answers even for what py-evm lets through
        return error(number, -32603, f"internal error: {type(fault).__name__}")


def error(number: Any, code: int, message: str, data: str | None = None) -> dict[str, object]:
    """A JSON-RPC error object."""
    raw = {"code": code, "message": message} | ({"data": data} if data is not None else {})
    return {"jsonrpc": "2.0", "id": number, "error": raw}


def _int(value: Any) -> int:
    return int(value, 16) if isinstance(value, str) else int(value)


def _at(params: list[Any], index: int, default: Any = None) -> Any:
    return params[index] if len(params) > index else default


def _block(chain: DevChain, tag: Any) -> Block | None:
    if isinstance(tag, dict):
        tag = tag.get("blockHash") or tag.get("blockNumber")
    if tag in (None, "latest", "pending"):
        return chain.head
    if tag in ("safe", "finalized"):
        return chain.blocks[max(0, chain.head.number - 2)]
    if tag == "earliest":
        return chain.blocks[0]
    if isinstance(tag, str) and len(tag) == 66:
        return chain.by_hash.get(from_hex(tag))
    number = _int(tag)
    return chain.blocks[number] if 0 <= number < len(chain.blocks) else None


def _needed(chain: DevChain, tag: Any) -> Block:
    block = _block(chain, tag)
    if block is None:
        raise RpcError(-32000, "header not found")
    return block


def _tx_json(chain: DevChain, block: Block, mined: Mined, position: int) -> dict[str, object]:
    tx: Any = mined.tx
    kind = getattr(tx, "type_id", None) or 0
    shown: dict[str, object] = {
        "hash": to_hex(mined.hash),
        "nonce": to_hex(tx.nonce),
        "blockHash": to_hex(block.hash),
        "blockNumber": to_hex(block.number),
        "transactionIndex": to_hex(position),
        "from": to_checksum_address(mined.sender),
        "to": to_checksum_address(tx.to) if tx.to else None,
        "value": to_hex(tx.value),
        "gas": to_hex(tx.gas),
        "input": to_hex(tx.data),
        "chainId": to_hex(chain.chain_id),
        "type": to_hex(kind),
        "v": to_hex(getattr(tx, "y_parity", 0)),
        "r": to_hex(tx.r),
        "s": to_hex(tx.s),
        "gasPrice": to_hex(BASE_FEE),
    }
    if kind:
        shown |= {
            "maxFeePerGas": to_hex(tx.max_fee_per_gas),
            "maxPriorityFeePerGas": to_hex(tx.max_priority_fee_per_gas),
            "accessList": [],
            "yParity": to_hex(tx.y_parity),
        }
    return shown


def _block_json(
    chain: DevChain, block: Block | None, *, full: bool = False
) -> dict[str, object] | None:
    if block is None:
        return None
    txs = [
        _tx_json(chain, block, t, i) if full else to_hex(t.hash) for i, t in enumerate(block.txs)
    ]
    return {
        **block.header,
        "hash": to_hex(block.hash),
        "transactions": txs,
        "uncles": [],
        "size": "0x0",
        "withdrawals": [],
    }


def _receipt(chain: DevChain, params: list[Any]) -> dict[str, object] | None:
    entry = chain.txs.get(from_hex(params[0]))
    if entry is None:
        return None
    block, mined = entry
    return {
        "transactionHash": to_hex(mined.hash),
        "transactionIndex": "0x0",
        "blockHash": to_hex(block.hash),
        "blockNumber": to_hex(block.number),
        "from": to_checksum_address(mined.sender),
        "to": to_checksum_address(mined.tx.to) if mined.tx.to else None,
        "cumulativeGasUsed": to_hex(mined.gas_used),
        "gasUsed": to_hex(mined.gas_used),
        "effectiveGasPrice": to_hex(BASE_FEE),
        "contractAddress": to_checksum_address(mined.contract)
        if mined.contract and mined.status
        else None,
        "logs": chain.logs(block.number, block.number, None, ()) if mined.logs else [],
        "logsBloom": NO_BLOOM,
        "status": to_hex(mined.status),
        "type": to_hex(getattr(mined.tx, "type_id", None) or 0),
    }


def _get_logs(chain: DevChain, params: list[Any]) -> list[dict[str, object]]:
    log_filter = params[0]
    if "blockHash" in log_filter:
        block = chain.by_hash.get(from_hex(log_filter["blockHash"]))
        if block is None:
            raise RpcError(-32000, "unknown block")
        low = high = block.number
    else:
        first, last = (
            _block(chain, log_filter.get("fromBlock")),
            _block(chain, log_filter.get("toBlock")),
        )
        low = first.number if first else len(chain.blocks)
        high = last.number if last else chain.head.number
    return chain.logs(
        low,
        high,
        _lowered(log_filter.get("address")),
        [_lowered(t) for t in log_filter.get("topics") or ()],
    )


def _lowered(value: Any) -> set[str] | None:
    """One or several of a filter, in lower case; None, which lets everything through, for none, as
    on other nodes.
    """
    return {v.lower() for v in ([value] if isinstance(value, str) else value)} if value else None


def _call(chain: DevChain, params: list[Any]) -> str:
    tag = _at(params, 1, "latest")
    return to_hex(
        chain.call(params[0], None if tag in ("latest", "pending", None) else _needed(chain, tag))
    )


def _state(chain: DevChain, tag: Any) -> Any:
    block = _needed(chain, tag)
    return chain.state_at(block.number, block.timestamp, block.root)


def _storage(chain: DevChain, params: list[Any]) -> str:
    value = _state(chain, _at(params, 2)).get_storage(from_hex(params[0]), _int(params[1]))
    return to_hex(value.to_bytes(32, "big"))


def _transaction(chain: DevChain, params: list[Any]) -> dict[str, object] | None:
    entry = chain.txs.get(from_hex(params[0]))
    return None if entry is None else _tx_json(chain, entry[0], entry[1], 0)


def _send(chain: DevChain, params: list[Any]) -> str:
    call = params[0]
    sender = from_hex(call["from"])
    key = chain.accounts.get(sender)
    if key is None:
        raise RpcError(-32000, "unknown account")
    tx = {
        "type": 2,
        "chainId": chain.chain_id,
        "nonce": _state(chain, "latest").get_nonce(sender),
        "to": to_checksum_address(call["to"]) if call.get("to") else b"",
        "value": _int(call.get("value", "0x0")),
        "data": call.get("input") or call.get("data") or "0x",
        "gas": _int(call["gas"]) if call.get("gas") else chain.estimate(call),
        "maxFeePerGas": BASE_FEE * 2,
        "maxPriorityFeePerGas": 0,
    }
    return to_hex(chain.send_raw(bytes(Account.sign_transaction(tx, key).raw_transaction)))


def _mine(chain: DevChain, count: int, apart_s: int = 1) -> str:
    if not 0 <= count <= LARGEST_MINE:
        raise RpcError(-32602, f"0 to {LARGEST_MINE} blocks at once")
    for n in range(count):
        if n and apart_s > 1:
            _set_next(chain, [chain.head.timestamp + apart_s])
        chain.mine()
    return "0x0"


def _evm_mine(chain: DevChain, params: list[Any]) -> str:
    """One block, at a time of its own where one is given."""
    at = _at(params, 0)
    if isinstance(at, dict):
        at = at.get("timestamp")
    if at is not None:
        _set_next(chain, [at])
    return _mine(chain, 1)


def _increase_time(chain: DevChain, params: list[Any]) -> str:
    by = _int(params[0])
    if not 0 <= by <= LATEST_TIME - chain.clock():
        raise RpcError(-32602, "time goes forward")
    chain.offset += by
    return to_hex(chain.offset)


def _set_next(chain: DevChain, params: list[Any]) -> None:
    at = _int(params[0])
    if not chain.head.timestamp <= at <= LATEST_TIME:
        raise RpcError(-32602, "the next block cannot be earlier than the newest one")
    chain.next_timestamp = at


def _reorg(chain: DevChain, params: list[Any]) -> None:
    if len(params) > 1 and params[1]:
        raise RpcError(-32602, "a reorganisation to transactions of its own is not supported")
    chain.reorg(_int(params[0]["depth"] if isinstance(params[0], dict) else params[0]), keep=False)


def _fee_history(chain: DevChain, params: list[Any]) -> dict[str, object]:
    count = max(1, min(_int(_at(params, 0, 1)), 1024))
    oldest = max(0, chain.head.number - count + 1)
    shown = chain.head.number - oldest + 1
    return {
        "oldestBlock": to_hex(oldest),
        "baseFeePerGas": [to_hex(BASE_FEE)] * (shown + 1),
        "gasUsedRatio": [0.1] * shown,
        "reward": [["0x0"] * len(_at(params, 2) or [])] * shown,
    }


METHODS: Final[dict[str, Method]] = {
    "eth_chainId": lambda c, p: to_hex(c.chain_id),
    "net_version": lambda c, p: str(c.chain_id),
    "web3_clientVersion": lambda c, p: "devchain/py-evm",
    "eth_syncing": lambda c, p: False,
    "eth_blockNumber": lambda c, p: to_hex(c.head.number),
    "eth_accounts": lambda c, p: [to_checksum_address(a) for a in c.accounts],
    "eth_requestAccounts": lambda c, p: [to_checksum_address(a) for a in c.accounts],
    "eth_gasPrice": lambda c, p: to_hex(BASE_FEE),
    "eth_maxPriorityFeePerGas": lambda c, p: "0x0",
    "eth_feeHistory": _fee_history,
    "eth_getBlockByNumber": lambda c, p: _block_json(
        c, _block(c, p[0]), full=bool(_at(p, 1, False))
    ),
    "eth_getBlockByHash": lambda c, p: _block_json(
        c, c.by_hash.get(from_hex(p[0])), full=bool(_at(p, 1, False))
    ),
    "eth_getTransactionReceipt": _receipt,
    "eth_getBlockReceipts": lambda c, p: [
        _receipt(c, [to_hex(t.hash)]) for t in _needed(c, p[0]).txs
    ],
    "eth_getTransactionByHash": _transaction,
    "eth_getLogs": _get_logs,
    "eth_call": _call,
    "eth_estimateGas": lambda c, p: to_hex(c.estimate(p[0])),
    "eth_getBalance": lambda c, p: to_hex(_state(c, _at(p, 1)).get_balance(from_hex(p[0]))),
    "eth_getCode": lambda c, p: to_hex(_state(c, _at(p, 1)).get_code(from_hex(p[0]))),
    "eth_getTransactionCount": lambda c, p: to_hex(_state(c, _at(p, 1)).get_nonce(from_hex(p[0]))),
    "eth_getStorageAt": _storage,
    "eth_sendRawTransaction": lambda c, p: to_hex(c.send_raw(from_hex(p[0]))),
    "eth_sendTransaction": _send,
    "evm_mine": _evm_mine,
    "anvil_mine": lambda c, p: _mine(c, _int(_at(p, 0, 1)), _int(_at(p, 1, 1))),
    "evm_increaseTime": _increase_time,
    "evm_setNextBlockTimestamp": _set_next,
    "evm_snapshot": lambda c, p: to_hex(c.snapshot()),
    "evm_revert": lambda c, p: c.revert(_int(p[0])),
    "anvil_reorg": _reorg,
}
