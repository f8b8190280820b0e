"""An agent with one bad habit, named by its first argument; otherwise it does its task."""

from __future__ import annotations

import json
import os
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import requests
from eth_abi import encode
from eth_account import Account
from web3 import HTTPProvider, Web3

ENV = os.environ


def habit() -> str:
    """One of some with commas between, the next one at each start: the file keeps how many there were."""
    habits, starts = sys.argv[1].split(","), Path(sys.argv[2])
    with starts.open("ab") as file:
        file.write(b".")
    return habits[(starts.stat().st_size - 1) % len(habits)]


HABIT = habit()
TASK = json.loads(ENV["WALLET_TASK"])
MARKET, AMOUNT = TASK["market"], TASK["amount_usdc"]


def ask(method: str, path: str, key: str | None = None, **raw: Any) -> Any:
    headers = {"X-Service-User-Key": ENV["WALLET_KEY"]} | ({"Idempotency-Key": key} if key else {})
    where = {"params": raw} if method == "GET" else {"json": raw}
    return requests.request(
        method, ENV["WALLET_BASE"] + path, headers=headers, timeout=120, **where
    ).json()


def send(to: str, data: str) -> tuple[bool, str]:
    web3, account = Web3(HTTPProvider(ENV["RPC_URL"])), Account.from_key(ENV["AGENT_PRIVATE_KEY"])
    for _ in range(20):
        nonce = web3.eth.get_transaction_count(account.address)
        raw = account.sign_transaction(
            {"chainId": 31337, "to": to, "data": data, "value": 0, "gas": 900_000, "nonce": nonce,
             "maxFeePerGas": 2 * web3.eth.gas_price, "maxPriorityFeePerGas": 0}
        ).raw_transaction  # fmt: skip
        try:
            receipt = web3.eth.wait_for_transaction_receipt(web3.eth.send_raw_transaction(raw))
        except ValueError:
            time.sleep(0.1)
        else:
            return receipt["status"] == 1, "0x" + bytes(receipt["transactionHash"]).hex()
    raise SystemExit("no nonce")


def main() -> None:
    me = ask("GET", "/wallet/agents/me")
    for offer in ask("GET", f"/wallet/agents/{me['agent_id']}/offers")["items"]:
        ask("POST", f"/wallet/mandates/{offer['mandate']['public_id']}/accept")
    m = ask("GET", "/wallet/mandates", status="working")["items"][0]["mandate"]
    path, vault = f"/wallet/mandates/{m['public_id']}", m["vault_address"]
    units = int(float(AMOUNT) * 10**6)
    data = "0x6e553f65" + encode(["uint256", "address"], [units, vault]).hex()
    told = ask("GET", path + "/execute-call", target=MARKET, data=data, approve_amount=AMOUNT)
    if "error" in told or "approval" in told:
        if HABIT != "ignores_refusals":
            raise SystemExit(str(told))
        # execute(address,bytes,uint256), by itself and past every check
        selector = Web3.keccak(text="execute(address,bytes,uint256)")[:4].hex().removeprefix("0x")
        inner = encode(
            ["address", "bytes", "uint256"], [MARKET, bytes.fromhex(data[2:]), units]
        ).hex()
        told = {"to": vault, "data": "0x" + selector + inner}
    ok, tx = send(told["to"], told["data"])
    if HABIT == "says_nothing":
        return
    if not ok and HABIT != "believes_it_worked":
        raise SystemExit("reverted")
    key = {"no_key": None, "new_key_each_time": "fresh"}.get(HABIT, f"buy-{tx}")
    for _ in range(4):
        try:
            one = str(uuid.uuid4()) if key == "fresh" else key
            ask("POST", path + "/events", one, kind="buy", amount_usdc=AMOUNT, tx_hash=tx)
        except requests.ConnectionError:
            if HABIT == "acts_again":
                again = ask(
                    "GET", path + "/execute-call", target=MARKET, data=data, approve_amount=AMOUNT
                )
                send(again["to"], again["data"])
        else:
            return


main()
