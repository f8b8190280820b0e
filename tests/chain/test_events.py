"""Every event of the vault has its line in the one table of chain events, and the line reads it."""

from __future__ import annotations

import json
import typing
from importlib.resources import files
from typing import Any

import pytest

from domain.ledger.chain_events import BY_LOG, CHAIN_EVENTS, LOG_OF, ChainEvent
from domain.ledger.payloads import Payload, Told
from domain.ledger.written import read, write
from tools.mandates.recording import VaultTx

TOLD = json.loads(files("chain").joinpath("abi", "MandateVault.json").read_text())
EVENTS: dict[str, list[dict[str, Any]]] = {
    e["name"]: e["inputs"]
    for e in (TOLD if isinstance(TOLD, list) else TOLD["abi"])
    if e["type"] == "event"
}


def _value(kind: str) -> Any:
    return 3_000_000 if kind.startswith("uint256") else 1 if kind.startswith("uint") else "0xab"


def test_every_event_of_the_vault_is_in_the_table_once() -> None:
    assert sorted(e.log for e in CHAIN_EVENTS) == sorted(EVENTS)


@pytest.mark.parametrize("event", CHAIN_EVENTS, ids=lambda e: e.log)
def test_a_line_reads_its_event_and_its_row_is_read_back(event: ChainEvent) -> None:
    args = {i["name"]: _value(i["type"]) for i in EVENTS[event.log]}
    what, amount = event.reads(args)
    assert type(what) is event.what
    assert event.what in typing.get_args(Payload)
    told = Told(what=what, log_index=4)
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
