"""Purse logs: what the logs of USDC and of a hub say, in one transaction together, of a purse.

USDC tells of a payment by two logs, `AuthorizationUsed` and the `Transfer` behind it; what the hub
moves it tells by its own log behind the transfers. A log whose other half is missing makes nothing
here: the purse then holds another balance than its rows say, which the comparison of sums finds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from chain.contracts import abi_codec
from chain.contracts.abi_codec import AUTHORIZATION_USED_TOPIC, ERC20_TRANSFER_TOPIC
from domain.chain_facts import PurseFacts, VaultLog

PURSES_A_CALL: Final = 500


def token_filters(usdc: str, purses: Iterable[str]) -> list[dict[str, object]]:
    """The filters of all logs of USDC about some purses, at most 500 of them in each."""
    words = ["0x" + "00" * 12 + p.lower().removeprefix("0x") for p in sorted(purses)]
    some = [words[n : n + PURSES_A_CALL] for n in range(0, len(words), PURSES_A_CALL)]
    topics: list[list[object]] = [
        [[AUTHORIZATION_USED_TOPIC, ERC20_TRANSFER_TOPIC], w] for w in some
    ]
    topics += [[ERC20_TRANSFER_TOPIC, None, w] for w in some]
    return [{"address": usdc, "topics": of} for of in topics]


def paired(logs: Iterable[VaultLog], purses: Mapping[str, PurseFacts]) -> list[VaultLog]:
    """The logs of purses, out of those of USDC and the hubs.

    Shapes: `purses` by address in lower case. `address` of a log here is its purse; PursePaid and
    PurseReceived stand at the place of their Transfer.
    """
    there = {(g.block.number, g.log_index): g for g in logs}  # two filters may tell of one log
    ordered = [there[place] for place in sorted(there)]
    ordered.sort(key=lambda g: (g.block.number, g.tx_hash))
    rows: list[VaultLog] = []
    for _, of_tx in groupby(ordered, key=lambda g: (g.block.number, g.tx_hash)):
        group = list(of_tx)
        for address in sorted(_touched(group) & purses.keys()):
            rows += _of_purse(group, purses[address])
    return sorted(rows, key=lambda g: (g.block.number, g.log_index))


def _touched(logs: Iterable[VaultLog]) -> set[str]:
    names = ("purse", "from", "to")
    return {str(g.args[n]).lower() for g in logs for n in names if n in g.args}


def _of_purse(logs: Sequence[VaultLog], purse: PurseFacts) -> Iterator[VaultLog]:
    """The logs of one purse in one transaction, in no order."""
    # Anybody can have USDC tell of a transfer of nothing, from and to whomever.
    transfers = [g for g in logs if g.name == "Transfer" and g.args["amount"]]
    out = [g for g in transfers if _is(g, "from", purse.address)]
    into = [g for g in transfers if _is(g, "to", purse.address)]
    own = [g for g in logs if _is(g, "purse", purse.address)]
    for used in own:
        if used.name != "AuthorizationUsed":
            continue
        transfer = next((g for g in out if g.log_index > used.log_index), None)
        if transfer is not None:
            out.remove(transfer)
            values = {**transfer.args, "nonce": used.args["nonce"]}
            yield _purse_log("PursePaid", transfer, purse, values)
    for log in own:
        if log.address.lower() != purse.hub or log.name not in abi_codec.HUB_EVENTS:
            continue
        if log.name == "PurseFunded":
            _take(into, log, purse.vault, "from", log.args["amount"])
        if log.name == "PurseDrained":
            _take(out, log, purse.vault, "to", log.args["amount"])
        yield _purse_log(log.name, log, purse, log.args)
    for transfer in into:
        # The vault sends nothing there but by the hub, whose log is then missing.
        if not _is(transfer, "from", purse.vault):
            yield _purse_log("PurseReceived", transfer, purse, transfer.args)


def _is(log: VaultLog, name: str, address: str) -> bool:
    return str(log.args.get(name, "")).lower() == address.lower()


def _take(transfers: list[VaultLog], log: VaultLog, other: str, name: str, amount: int) -> None:
    """Take the transfer that a log of the hub tells of, the nearest before it, off the list."""
    before = [
        g
        for g in transfers
        if g.log_index < log.log_index and g.args["amount"] == amount and _is(g, name, other)
    ]
    if before:
        transfers.remove(before[-1])


def _purse_log(name: str, at: VaultLog, purse: PurseFacts, args: Mapping[str, object]) -> VaultLog:
    address = abi_codec.checksummed(purse.address)
    values = {**args, "purse": address}
    return VaultLog(name, address, at.mandate, values, at.tx_hash, at.log_index, at.block)
