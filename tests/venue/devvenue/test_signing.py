"""Whose signature it is, as the venue sees it: the published vectors, and ways to be a stranger."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any, Final

import pytest
from eth_account import Account
from eth_account.signers.local import LocalAccount
from hypothesis import given, settings
from hypothesis import strategies as st

from devtools.devvenue import Malformed
from devtools.devvenue.decimals import canonical
from devtools.devvenue.signatures import signer_of
from devtools.devvenue.wires import read_envelope
from tests.venue.devvenue.material import ALICE, BOB, KEY, START, STRANGER, Desk, address, limit

VECTORS: Final[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "signature_vectors.json").read_text()
)
ME: Final = address(Account.from_key(VECTORS["key"]))
TAKEN: Final = {"order", "cancel", "cancelByCloid", "updateLeverage", "noop"}
KINDS: Final = {"ApproveAgent": "approveAgent", "ApproveBuilderFee": "approveBuilderFee"}
ORDER_OF: Final = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


def is_taken(action: dict[str, Any]) -> bool:
    """Whether the local venue takes this action at all: it knows limit orders alone."""
    limits = all("limit" in wire["t"] for wire in action.get("orders", []))
    return action["type"] in TAKEN and limits


@pytest.mark.parametrize(
    "vector", [v for v in VECTORS["l1"] if is_taken(v["action"])], ids=lambda v: v["name"]
)
def test_an_l1_vector_recovers_its_signer(vector: dict[str, Any]) -> None:
    body = {
        "action": vector["action"],
        "nonce": VECTORS["nonce"],
        "signature": vector["signature"],
        "vaultAddress": VECTORS["vault"] if vector["vault"] else None,
        "expiresAfter": VECTORS["expires_after"] if vector["expires"] else None,
    }
    envelope, mainnet = read_envelope(body), vector["network"] == "mainnet"
    assert signer_of(envelope, mainnet=mainnet) == ME
    assert signer_of(envelope, mainnet=not mainnet) != ME


@pytest.mark.parametrize("vector", VECTORS["user"], ids=lambda v: v["name"])
def test_a_user_signed_vector_recovers_its_signer(vector: dict[str, Any]) -> None:
    for chain_id in (VECTORS["signature_chain_id_user"], "0xa4b1"):
        action = vector["message"] | {
            "type": KINDS[vector["primary"].rpartition(":")[2]],
            "signatureChainId": chain_id,
        }
        body = {"action": action, "nonce": 1, "signature": vector["signature"]}
        own = chain_id == VECTORS["signature_chain_id_user"]
        assert (signer_of(read_envelope(body), mainnet=True) == ME) is own


@pytest.fixture
def desk() -> Desk:
    return Desk()


def order_of(ingest_context: Desk, **more: Any) -> dict[str, Any]:
    wire = limit(ingest_context.id("BTC"), True, "60000", "0.001")
    return {"type": "order", "orders": [wire | more], "grouping": "na"}


def reversed_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: reversed_keys(value[k]) for k in reversed(value)}
    return [reversed_keys(item) for item in value] if isinstance(value, list) else value


def test_the_posted_form_does_not_matter_only_the_canonical_one(desk: Desk) -> None:
    cloid = "0x" + "ab" * 16
    signed = desk.l1(ALICE, order_of(desk, c=cloid))
    posted = reversed_keys(signed)
    wire = posted["action"]["orders"][0]
    wire |= {"p": "60000.00", "s": "0.00100", "c": "0x" + "AB" * 16, "note": "unknown"}
    assert desk.venue.exchange(posted)["response"]["data"]["statuses"][0]["resting"]["oid"]


@pytest.mark.parametrize(
    "change", [{"p": "60000.0"}, {"s": "0.0010"}, {"c": "0x" + "AB" * 16}], ids=str
)
def test_a_signature_over_another_form_is_a_strangers(desk: Desk, change: dict[str, Any]) -> None:
    told = desk.act(ALICE, order_of(desk, **change))
    assert told["status"] == "err"
    found = re.fullmatch(r"User or API Wallet (0x[0-9a-f]{40}) does not exist\.", told["response"])
    assert found
    assert found[1] != address(ALICE)


def test_another_order_of_keys_and_a_checksummed_builder_are_signed_in_vain(desk: Desk) -> None:
    for builder in ({"f": 1, "b": "0x" + "11" * 20}, {"b": BOB.address, "f": 1}):
        told = desk.act(ALICE, order_of(desk) | {"builder": builder})
        assert "does not exist" in told["response"]
    assert "does not exist" in desk.act(ALICE, reversed_keys(order_of(desk)))["response"]


@pytest.mark.parametrize("field", ["nonce", "vaultAddress", "expiresAfter"])
def test_each_part_of_the_envelope_is_signed(desk: Desk, field: str) -> None:
    sub = "0x" + "5b" * 20
    body = desk.l1(ALICE, order_of(desk))
    body[field] = {"nonce": body["nonce"] + 1, "vaultAddress": sub}.get(field, START + 60_000)
    assert "does not exist" in desk.venue.exchange(body)["response"]


def test_the_other_networks_signature_is_a_strangers_or_told(desk: Desk) -> None:
    assert "does not exist" in desk.act(ALICE, order_of(desk), mainnet=False)["response"]
    body = desk.agent_envelope(ALICE, address(KEY), "k", mainnet=False)
    words = "Mainnet and testnet require different signature."
    assert desk.venue.exchange(body) == {"status": "err", "response": words}


def test_a_changed_name_is_a_strangers_and_a_stranger_must_deposit(desk: Desk) -> None:
    body = desk.agent_envelope(ALICE, address(KEY), "k")
    body["action"]["agentName"] = "other"
    told = desk.venue.exchange(body)["response"]
    assert told.startswith("Must deposit before performing actions. User: 0x")
    mine = desk.venue.exchange(desk.agent_envelope(STRANGER, address(KEY), "k"))["response"]
    assert mine == f"Must deposit before performing actions. User: {address(STRANGER)}"


def test_the_sdk_may_leave_the_empty_name_out(desk: Desk) -> None:
    body = desk.agent_envelope(ALICE, address(KEY), "")
    del body["action"]["agentName"]
    assert desk.venue.exchange(body)["status"] == "ok"


def test_the_nonce_of_a_user_signed_action_is_that_of_the_envelope(desk: Desk) -> None:
    body = desk.agent_envelope(ALICE, address(KEY), "k") | {"nonce": START + 9}
    assert desk.venue.exchange(body)["response"] == "Nonce mismatch."


def test_the_twin_of_a_signature_is_the_same_signer_and_the_same_nonce(desk: Desk) -> None:
    body = desk.l1(ALICE, order_of(desk))
    twin = copy.deepcopy(body)
    signature = twin["signature"]
    signature["s"] = hex(ORDER_OF - int(signature["s"], 16))
    signature["v"] = 55 - signature["v"]
    assert desk.venue.exchange(body)["status"] == "ok"
    words = f"Invalid nonce: duplicate nonce {body['nonce']}"
    assert desk.venue.exchange(twin)["response"] == words


def test_a_signature_that_no_key_can_have_made_is_told(desk: Desk) -> None:
    body = desk.l1(ALICE, order_of(desk))
    body["signature"] = {"r": "0x0", "s": "0x1", "v": 27}
    assert desk.venue.exchange(body)["response"] == "Unable to recover signer."


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {},
        {"action": {"type": "order"}},
        {"action": {"type": "nothing"}, "nonce": 1},
        {"action": {"type": "noop"}, "nonce": 1, "signature": "0x00"},
        {"action": {"type": "noop"}, "nonce": 1, "signature": {"r": "0x1", "s": "0x1", "v": 1}},
        {"action": {"type": "noop"}, "nonce": -1, "signature": {"r": "0x1", "s": "0x1", "v": 27}},
        {"action": {"type": "noop"}, "nonce": 1.0, "signature": {"r": "0x1", "s": "0x1", "v": 27}},
        {
            "action": {"type": "noop"},
            "nonce": 1,
            "signature": {"r": "0x1", "s": "0x1", "v": 27},
            "vaultAddress": "0x12",
        },
    ],
)
def test_what_the_venue_cannot_parse_it_does_not_judge(desk: Desk, body: Any) -> None:
    with pytest.raises(Malformed):
        desk.venue.exchange(body)


@pytest.mark.parametrize(
    "change",
    [
        {"p": 60000},
        {"p": "6e4"},
        {"a": "0"},
        {"a": True},
        {"b": 1},
        {"c": "0x12"},
        {"t": {"limit": {"tif": "Fok"}}},
        {"t": {}},
    ],
    ids=str,
)
def test_a_field_of_another_type_cannot_be_parsed(desk: Desk, change: dict[str, Any]) -> None:
    with pytest.raises(Malformed):
        desk.act(ALICE, order_of(desk, **change))


def test_a_user_signed_action_has_no_expiry(desk: Desk) -> None:
    body = desk.agent_envelope(ALICE, address(KEY), "k") | {"expiresAfter": START + 1}
    with pytest.raises(Malformed):
        desk.venue.exchange(body)


def by_signer(ingest_context: Desk, who: LocalAccount, nonce: int) -> Any:
    told = ingest_context.act(who, {"type": "noop"}, nonce=nonce)
    return "ok" if told["status"] == "ok" else told["response"]


def test_a_nonce_counts_once_for_each_signer(desk: Desk) -> None:
    assert by_signer(desk, ALICE, START) == "ok"
    assert by_signer(desk, ALICE, START) == f"Invalid nonce: duplicate nonce {START}"
    assert by_signer(desk, BOB, START) == "ok"
    assert desk.approve(ALICE, address(KEY), "k") == "ok"
    assert by_signer(desk, KEY, START) == "ok"


def test_a_nonce_lies_within_two_days_back_and_one_ahead(desk: Desk) -> None:
    day = 86_400_000
    low, high = START - 2 * day, START + day
    assert by_signer(desk, ALICE, low) == f"Invalid nonce: nonce too low {low} < {low}"
    assert by_signer(desk, ALICE, low + 1) == "ok"
    assert by_signer(desk, ALICE, high) == f"Invalid nonce: nonce too high {high} > {high}"
    assert by_signer(desk, ALICE, high - 1) == "ok"


def test_a_nonce_is_above_the_smallest_of_the_hundred_kept(desk: Desk) -> None:
    for n in range(100):
        assert by_signer(desk, ALICE, START + 2 * n) == "ok"
    assert by_signer(desk, ALICE, START - 1).startswith("Invalid nonce: nonce too low")
    assert by_signer(desk, ALICE, START + 1) == "ok"
    assert by_signer(desk, ALICE, START) == f"Invalid nonce: nonce too low {START} < {START + 1}"


def test_a_stale_action_is_refused_costs_five_requests_and_burns_no_nonce(desk: Desk) -> None:
    used = desk.venue.account(ALICE.address).requests
    told = desk.act(ALICE, order_of(desk), nonce=START + 5, expires=START - 1)
    assert told == {"status": "err", "response": "Action already expired"}
    assert desk.venue.account(ALICE.address).requests == used + 5
    assert by_signer(desk, ALICE, START + 5) == "ok"
    assert desk.act(ALICE, order_of(desk), expires=START)["status"] == "ok"


HEX16 = st.binary(min_size=16, max_size=16).map(lambda raw: "0x" + raw.hex())
FIGURES = st.decimals(0, 10**9, places=8).map(canonical)
LIMITS = st.sampled_from(["Alo", "Ioc", "Gtc"]).map(lambda tif: {"limit": {"tif": tif}})
WIRES = st.fixed_dictionaries(
    {
        "a": st.integers(0, 200_000),
        "b": st.booleans(),
        "p": FIGURES,
        "s": FIGURES,
        "r": st.booleans(),
        "t": LIMITS,
    },
    optional={"c": HEX16},
).map(lambda wire: {key: wire[key] for key in "abpsrtc" if key in wire})
DESKS: Final = {mainnet: Desk(mainnet=mainnet) for mainnet in (True, False)}
BUILDERS = st.integers(0, 2**160 - 1).map(lambda n: {"b": f"0x{n:040x}", "f": n % 1_000})
ACTIONS = st.one_of(
    st.tuples(st.lists(WIRES, max_size=3), st.none() | BUILDERS).map(
        lambda t: (
            {"type": "order", "orders": t[0], "grouping": "na"}
            | ({"builder": t[1]} if t[1] else {})
        )
    ),
    st.lists(st.integers(0, 2**63 - 1), max_size=3).map(
        lambda oids: {"type": "cancel", "cancels": [{"a": 1, "o": oid} for oid in oids]}
    ),
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    ACTIONS,
    st.integers(1, 2**53),
    st.none() | st.integers(1, 2**53),
    st.none() | st.just("0x" + "5b" * 20),
    st.booleans(),
)
def test_whatever_the_sdk_signs_is_its_signers_in_any_order_of_keys(
    action: dict[str, Any], nonce: int, expires: int | None, vault: str | None, mainnet: bool
) -> None:
    body = DESKS[mainnet].l1(ALICE, action, nonce=nonce, expires=expires, vault=vault)
    assert signer_of(read_envelope(reversed_keys(body)), mainnet=mainnet) == address(ALICE)
