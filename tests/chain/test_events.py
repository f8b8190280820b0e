"""Every event of the vault has its line in the one table of chain events, and the line reads it."""

from __future__ import annotations

import json
import typing
from importlib.resources import files
from typing import Any

import pytest

from domain.ledger.events.chain_events import BY_LOG, CHAIN_EVENTS, LOG_OF, ChainEvent
from domain.ledger.events.event import NewEvent, Reporter
from domain.ledger.events.pairing import LogHistory
from domain.ledger.events.payload_codec import read, write
from domain.ledger.events.payloads import EventPayload, Payload
from domain.ledger.state.movements import STILL, movement_of
from tests.domain.material import START, deposit, ledger
from tools.keeper.reversals import reversal
from tools.mandates.vault.vault_creation import VaultTx

TOLD = json.loads(files("chain").joinpath("abi", "MandateVault.json").read_text())
EVENTS: dict[str, list[dict[str, Any]]] = {
    e["name"]: e["inputs"]
    for e in (TOLD if isinstance(TOLD, list) else TOLD["abi"])
    if e["type"] == "event"
}

# What carries an amount of USDC that came or went; every other event says what was so.
MONEY = {
    name
    for name, inputs in EVENTS.items()
    if {i["name"] for i in inputs} & {"amount", "spent", "returned"}
}


def _value(kind: str) -> Any:
    if kind.endswith("[]"):
        return [_value(kind.removesuffix("[]"))]
    return 3_000_000 if kind.startswith("uint256") else 1 if kind.startswith("uint") else "0xab"


def test_every_event_of_the_vault_is_in_the_table_once() -> None:
    assert sorted(e.log for e in CHAIN_EVENTS) == sorted(EVENTS)


@pytest.mark.parametrize("event", CHAIN_EVENTS, ids=lambda e: e.log)
def test_a_line_reads_its_event_and_its_row_is_read_back(event: ChainEvent) -> None:
    args = {i["name"]: _value(i["type"]) for i in EVENTS[event.log]}
    what, amount = event.reads(args)
    assert type(what) is event.payload_type
    assert event.payload_type in typing.get_args(Payload)
    told = EventPayload(body=what, log_index=4)
    assert read(event.kind, write(told)) == told
    if "amount" in args:
        assert amount is not None
        assert amount.micros == args["amount"]


def test_an_owner_names_a_transaction_by_the_log_it_leaves() -> None:
    named = next(
        a for a in typing.get_args(VaultTx.model_fields["kind"].annotation) if a is not type(None)
    )
    assert set(typing.get_args(named)) == set(LOG_OF)
    assert set(LOG_OF.values()) <= set(BY_LOG)


@pytest.mark.parametrize("event", CHAIN_EVENTS, ids=lambda e: e.log)
def test_what_an_event_moves_is_in_the_record_and_is_taken_back(event: ChainEvent) -> None:
    """The measured book counts it, and a reorganisation leaves nothing."""
    what, amount = event.reads({i["name"]: _value(i["type"]) for i in EVENTS[event.log]})
    log = NewEvent(
        kind=event.kind,
        reported_by=Reporter.CHAIN,
        occurred_at=START,
        amount_usdc=amount,
        tx_hash="0x01",
        payload=write(EventPayload(body=what, log_index=4)),
    )
    before = ledger(deposit(500)).state.measured.cash or 0
    made = ledger(deposit(500), log)
    by = movement_of(what, amount.micros if amount is not None else 0)
    assert (made.state.measured.cash or 0) - before == by.cash
    assert (by != STILL) is (event.log in MONEY)
    told = LogHistory(first=made.events[-1], now=made.events[-1], is_standing=True)
    made.add(reversal(told, START, 84532))
    assert made.state.measured.cash == before
