"""The terms as typed data: fields, order, values, both versions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from domain.mandates.mandate import OPEN_AGENT, TermsFrame
from domain.mandates.terms import DAY_S, agrees, frame, members, message, typed_data
from tests.domain.material import START, mandate, usdc

HASH, GUARD = "0x" + "01" * 32, "0x" + "02" * 32
V2 = members(
    "string publicId,address owner,address agent,uint256 budgetUsdc,uint256 perTxCap,"
    "uint256 dailyCap,uint256 stopFloor,uint16 stopFloorBps,uint32 horizonDays,uint64 endsAt,"
    "uint16 agentFeeBps,uint256 approvalAbove,uint8 onFloor,bytes32 allowedTargetsHash,"
    "bytes32 guardTargetsHash,uint64 issuedAt,uint256 nonce"
)
assert V2[0] == ("publicId", "string")
FIXED = TermsFrame(1_800_000_000, 1_800_000_000 + 30 * DAY_S, 2**256 - 1)


def test_version_two_has_the_fields_of_the_specification_in_its_order() -> None:
    told = typed_data(message(mandate(), FIXED, HASH, GUARD), "2", 84532, "0x" + "ff" * 20)
    assert set(told) == {"types", "primaryType", "domain", "message"}
    assert [(f["name"], f["type"]) for f in told["types"]["MandateTerms"]] == [*V2]
    assert list(told["message"]) == [name for name, _ in V2]
    domain = ("MandateVault", "2", 84532, "0x" + "ff" * 20)
    names = ("name", "version", "chainId", "verifyingContract")
    assert tuple(f["name"] for f in told["types"]["EIP712Domain"]) == names
    assert told["domain"] == dict(zip(names, domain, strict=True))
    assert told["primaryType"] == "MandateTerms"


def test_amounts_are_base_units_in_decimal_strings() -> None:
    told = message(mandate(approval_above_usdc=usdc("12.5"), on_floor="close"), FIXED, HASH, GUARD)
    amounts = [told[n] for n in ("budgetUsdc", "perTxCap", "dailyCap", "stopFloor")]
    assert amounts == ["500000000", "50000000", "150000000", "400000000"]
    assert (told["approvalAbove"], told["onFloor"]) == ("12500000", "1")
    assert told["nonce"] == str(2**256 - 1)
    assert all(isinstance(v, str) for v in told.values())


def test_no_approval_amount_is_zero_and_no_agent_is_the_zero_address() -> None:
    told = message(mandate(agent_address=None), FIXED, HASH, GUARD)
    assert (told["approvalAbove"], told["onFloor"], told["agent"]) == ("0", "0", OPEN_AGENT)


def test_version_one_lacks_what_version_two_added() -> None:
    told = typed_data(message(mandate(), FIXED, HASH, GUARD), "1", 84532, OPEN_AGENT)
    gone = {"perTxCap", "dailyCap", "approvalAbove", "onFloor", "guardTargetsHash"}
    assert [f["name"] for f in told["types"]["MandateTerms"]] == [n for n, _ in V2 if n not in gone]
    assert set(told["message"]) == {n for n, _ in V2} - gone
    assert told["domain"]["version"] == "1"


def test_the_frame_ends_a_horizon_of_whole_days_after_it_was_issued() -> None:
    made = frame(mandate(), 7, START.replace(microsecond=999_999))
    assert (made.issued_at, made.nonce) == (int(START.timestamp()), 7)
    assert made.ends_at - made.issued_at == 30 * 86_400


@pytest.mark.parametrize(
    "changed",
    [
        {"budget_usdc": usdc(501)},
        {"stop_floor_bps": 1},
        {"payout_bps": 1},
        {"owner_address": OPEN_AGENT},
        {"agent_address": OPEN_AGENT},
    ],
)
def test_signed_values_agree_with_the_mandate_only_while_nothing_changed(
    changed: dict[str, Any],
) -> None:
    m = mandate()
    told = message(m, FIXED, HASH, GUARD)
    assert agrees(m, told, HASH, GUARD)
    assert not agrees(replace(m, **changed), told, HASH, GUARD)
    assert not agrees(m, told, GUARD, GUARD)


def test_an_agent_of_the_open_board_comes_after_a_signature_that_names_nobody() -> None:
    told = message(mandate(agent_address=None), FIXED, HASH, GUARD)
    assert agrees(mandate(), told, HASH, GUARD)
