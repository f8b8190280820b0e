"""USDC: read exactly, written with six decimals, rounded by name."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.money import LIMIT_MICROS, ZERO, Usdc, smallest, total
from domain.refusals import Refused


def refused(value: Any) -> None:
    with pytest.raises(Refused) as told:
        Usdc.parse(value)
    assert told.value.code == "invalid_number"


MICROS = st.integers(-LIMIT_MICROS, LIMIT_MICROS)


@given(MICROS)
def test_what_is_written_is_read_back(micros: int) -> None:
    assert Usdc.parse(str(Usdc(micros))) == Usdc(micros)
    assert Decimal(str(Usdc(micros))) * 1_000_000 == micros


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (["12.5", 12.5, Decimal("12.50")], "12.500000"),
        ([7, "7", 7.0, Decimal("7E+0")], "7.000000"),
        (["0.1", 0.1], "0.100000"),
        ([1e-6, "0.000001"], "0.000001"),
        (["-0.000001"], "-0.000001"),
        (["1.500000", 1.5], "1.500000"),
        ([-0.0, "-0", 0], "0.000000"),
        ([Decimal("1E+2")], "100.000000"),
        ([Decimal("999999999999.999999")], "999999999999.999999"),
        ([1e12], "1000000000000.000000"),
    ],
)
def test_a_number_is_read_exactly(values: list[Any], text: str) -> None:
    assert [str(Usdc.parse(value)) for value in values] == [text] * len(values)


NO_AMOUNTS = (
    "0.0000001 1e3 NaN -Infinity 1000000000000.000001 . 1. .5 1.0000000 1.5000000000 +1 01 00 -01 "
    "--1 1_0 1,5 0x10 ١"
)
NO_DECIMALS = (
    "NaN 1E-999999999 1E+999999999 2.5000000000 12345678901.1234567 1000000000000.000001 "
    "0.10000000000000000001"
)


@pytest.mark.parametrize("value", NO_AMOUNTS.split())
def test_a_text_that_is_no_amount_is_refused(value: str) -> None:
    refused(value)


@pytest.mark.parametrize("value", ["", " ", " 1 ", "1 ", "1\n", "1" * 60])
def test_a_text_with_more_than_an_amount_is_refused(value: str) -> None:
    refused(value)


@pytest.mark.parametrize("value", NO_DECIMALS.split())
def test_a_decimal_that_is_no_amount_is_refused(value: str) -> None:
    refused(Decimal(value))


@pytest.mark.parametrize("value", [0.1 + 0.2, float("nan"), float("inf"), 1e-7, 1e22])
def test_a_float_that_is_no_amount_is_refused(value: Any) -> None:
    refused(value)


@pytest.mark.parametrize("value", [10**13, 10**4_000, True, None, [], {}, b"1"])
def test_what_is_no_amount_is_refused(value: Any) -> None:
    refused(value)


@given(MICROS, st.integers(0, 10_000))
def test_rounding_goes_the_way_its_name_says(micros: int, bps: int) -> None:
    amount, exact = Usdc(micros), Decimal(micros) * bps / 10_000
    assert amount.share_down(bps).micros <= exact <= amount.share_up(bps).micros
    assert amount.share_up(bps).micros - amount.share_down(bps).micros <= 1
    assert amount.share_down(bps) + amount.share_up(10_000 - bps) == amount


def test_sums_and_the_least() -> None:
    assert total([Usdc(1), Usdc(2)]) == Usdc(3)
    assert total([]) == ZERO
    assert smallest(None, Usdc(2), Usdc(1)) == Usdc(1)
    assert smallest(None) is None
    assert -Usdc(5) == Usdc(-5)
    assert not ZERO
