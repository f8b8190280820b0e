"""A form is read as its type says."""

from __future__ import annotations

from typing import Any, NotRequired, Required, TypedDict

import pytest

from venue.shapes import (
    Amount,
    Figure,
    HourlyRate,
    LeverageValue,
    Malformed,
    Price,
    Rows,
    Signed,
    Size,
    SizeDecimals,
    Soft,
    SoftOrNull,
    Tally,
    shape_of,
)


class _Row(TypedDict):
    n: int


class _Form(TypedDict, total=False):
    name: Required[str]
    px: Required[Soft[Figure]]
    mid: SoftOrNull[Figure]
    rows: Rows[_Row]
    pair: tuple[str, list[_Row]]
    end: int | None


class _Whole(TypedDict):
    on: bool
    at: NotRequired[int]


GOOD: dict[str, Any] = {"name": "BTC", "px": "1.5"}
READ = shape_of(_Form)


@pytest.mark.parametrize("spare", [{}, {"mid": None}, {"rows": [{"n": 1}]}, {"end": None}])
def test_what_a_form_names_is_kept_and_what_may_be_missing_may_be(spare: dict[str, Any]) -> None:
    tally = Tally()
    assert READ({**GOOD, **spare}, tally) == {**GOOD, **spare}
    assert tally == Tally()
    assert shape_of(_Whole)({"on": True}, tally) == {"on": True}


def test_a_soft_figure_is_none_where_it_cannot_be_read_and_that_is_counted() -> None:
    tally = Tally()
    assert READ({**GOOD, "px": None, "mid": "x"}, tally) == {**GOOD, "px": None, "mid": None}
    assert tally.malformed == {"a decimal string is due": 2}


def test_a_row_of_rows_may_be_left_out_and_one_of_a_list_may_not() -> None:
    tally = Tally()
    assert READ({**GOOD, "rows": [{"n": 1}, {"n": "1"}]}, tally)["rows"] == [{"n": 1}]
    assert tally.dropped == 1
    assert READ({**GOOD, "pair": ["a", [{"n": 1}]]}, tally)["pair"] == ("a", [{"n": 1}])
    with pytest.raises(Malformed):
        READ({**GOOD, "pair": ["a", [{"n": "1"}]]}, tally)


@pytest.mark.parametrize("bad", [{"px": "1"}, {"name": 1, "px": "1"}, {**GOOD, "end": "1"}, []])
def test_a_form_without_what_it_requires_is_malformed(bad: Any) -> None:
    with pytest.raises(Malformed):
        READ(bad, Tally())


def test_a_field_that_no_form_names_is_counted_and_left_out() -> None:
    tally = Tally()
    assert READ({**GOOD, "more": 1}, tally) == GOOD
    assert tally.unknown == {"more": 1}


BOUNDS: list[tuple[Any, list[str], list[str]]] = [
    (Price, ["0.00000001", "64000.5"], ["0", "-5", "1" + "0" * 10, "0.000000001"]),
    (Size, ["0.00001", "250000000000"], ["0", "-1", "1" + "0" * 13]),
    (Amount, ["0", "0.0", "5"], ["-0.1", "1" + "0" * 16]),
    (Signed, ["-1.5", "0"], ["-1" + "0" * 16]),
    (HourlyRate, ["-0.04", "0.0004"], ["1.1", "-2"]),
]


@pytest.mark.parametrize(("form", "good", "bad"), BOUNDS)
def test_a_figure_is_none_outside_of_what_its_place_can_hold(
    form: Any, good: list[str], bad: list[str]
) -> None:
    read = shape_of(form)
    assert [read(told, Tally()) for told in good] == good
    for told in bad:
        with pytest.raises(Malformed):
            read(told, Tally())


@pytest.mark.parametrize(("form", "good", "bad"), [(LeverageValue, 1, 0), (LeverageValue, 100, -3), (SizeDecimals, 8, 9), (SizeDecimals, 0, -1)])  # fmt: skip
def test_a_leverage_and_the_decimals_of_a_size_have_bounds(form: Any, good: int, bad: int) -> None:
    read = shape_of(form)
    assert read(good, Tally()) == good
    with pytest.raises(Malformed):
        read(bad, Tally())
