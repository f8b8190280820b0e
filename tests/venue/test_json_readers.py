"""An answer is read as its type says."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import Field, TypeAdapter, ValidationError

from venue.json_readers import (
    Amount,
    AmountText,
    FeeTenthsBps,
    Figure,
    HourlyRate,
    HourlyRateText,
    LeverageValue,
    Missing,
    Pair,
    Price,
    Rows,
    Signed,
    Size,
    SizeDecimals,
    Soft,
    SoftOrNull,
    Tally,
    Text,
    VenueJson,
    Whole,
    figures,
)


class _RowJson(VenueJson):
    n: Whole


class _FormJson(VenueJson):
    name: Text
    px: Soft[Price]
    mid_px: SoftOrNull[Price] = None
    rows: Soft[Rows[_RowJson]] = None
    two: Missing[Pair[Text, list[_RowJson]]] = None
    end: Whole | None = None
    size: Soft[Size] = Field(default=None, alias="szi")


GOOD: dict[str, Any] = {"name": "BTC", "px": "1.5"}


def read(form: Any, value: Any, tally: Tally | None = None) -> Any:
    return TypeAdapter(form).validate_python(value, context=tally or Tally())


@pytest.mark.parametrize(
    ("more", "field", "value"),
    [({}, "px", Decimal("1.5")), ({"midPx": None}, "mid_px", None), ({"midPx": "2.50"}, "mid_px", Decimal("2.50")), ({"end": None}, "end", None), ({"end": 5}, "end", 5), ({"szi": "3"}, "size", 3)],
)  # fmt: skip
def test_a_field_is_read_under_the_venues_name_and_may_be_missing_where_it_may(
    more: dict[str, Any], field: str, value: Any
) -> None:
    tally = Tally()
    form = read(_FormJson, {**GOOD, **more}, tally)
    assert getattr(form, field) == value
    assert form.model_fields_set == {"name", "px", field} if more else {"name", "px"}
    assert tally == Tally()


def test_a_soft_figure_is_none_where_it_cannot_be_read_and_that_is_counted_by_its_field() -> None:
    tally = Tally()
    form = read(_FormJson, {**GOOD, "px": None, "midPx": "x"}, tally)
    assert (form.px, form.mid_px) == (None, None)
    assert tally.malformed == {"px": 1, "mid_px": 1}


def test_a_row_of_rows_may_be_left_out_and_one_of_a_list_may_not() -> None:
    tally = Tally()
    assert [r.n for r in read(_FormJson, {**GOOD, "rows": [{"n": 1}, {"n": "1"}]}, tally).rows] == [
        1
    ]
    assert tally.dropped == 1
    (name, rows) = read(_FormJson, {**GOOD, "two": ["a", [{"n": 1}]]}, tally).two
    assert (name, [r.n for r in rows]) == ("a", [1])
    with pytest.raises(ValidationError):
        read(_FormJson, {**GOOD, "two": ["a", [{"n": "1"}]]}, tally)


def test_what_is_beyond_a_pair_is_counted_and_left_out() -> None:
    tally = Tally()
    assert read(Rows[Pair[Text, Whole]], [["a", 1], ["b", 2, 3, 4], ["c"], "dd"], tally) == [
        ("a", 1),
        ("b", 2),
    ]
    assert (tally.unknown, tally.dropped) == ({"beyond a pair": 2}, 2)


@pytest.mark.parametrize(
    "bad",
    [{"px": "1"}, {"name": 1, "px": "1"}, {"name": "x" * 4_097, "px": "1"}, {"name": "x"}, {**GOOD, "end": "1"}, {**GOOD, "end": True}, {**GOOD, "end": 1.0},
     {**GOOD, "end": 2**64}, {**GOOD, "two": None}, [], "x", None],
)  # fmt: skip
def test_an_object_without_what_it_must_hold_is_none(bad: Any) -> None:
    with pytest.raises(ValidationError):
        read(_FormJson, bad)


def test_a_field_that_no_type_names_is_counted_and_left_out() -> None:
    tally = Tally()
    form = read(_FormJson, {**GOOD, "more": 1, "mid_px": "5", "rows": [{"n": 1, "more": 2}]}, tally)
    assert tally.unknown == {"more": 2, "mid_px": 1}
    assert (form.mid_px, [r.n for r in form.rows]) == (None, [1])


def test_names_are_counted_within_bounds() -> None:
    tally = Tally()
    read(_RowJson, {"n": 1} | {f"f{n}{'x' * 99}": n for n in range(1_000)}, tally)
    assert tally.unknown.total() == 1_000
    assert len(tally.unknown) == 65
    assert max(map(len, tally.unknown)) == 64


def test_an_object_of_figures_names_them_alone() -> None:
    tally = Tally()
    form = TypeAdapter(_FiguresJson).validate_python(
        {"rates": {"spotCross": "0.1", "add": 5, "x": 1}}, context=tally
    )
    assert form.model_dump(by_alias=True, exclude_unset=True, warnings=False) == {
        "rates": {"spotCross": "0.1", "add": None, "x": 1}
    }
    assert (tally.unknown, tally.malformed) == ({"x": 1}, {"add": 1})


class _FiguresJson(VenueJson):
    rates: Annotated[VenueJson, figures("spot_cross", "add")]


BOUNDS: list[tuple[Any, list[str], list[str]]] = [
    (Price, ["0.00000001", "64000.5", "1000000000"], ["0", "-5", "1" + "0" * 10, "0.000000001", "1000000000.1"]),
    (Size, ["0.00001", "250000000000"], ["0", "-1", "1" + "0" * 13]),
    (Amount, ["0", "0.0", "5"], ["-0.1", "1" + "0" * 16]),
    (Signed, ["-1.5", "0"], ["-1" + "0" * 16]),
    (HourlyRate, ["-0.04", "0.0004"], ["1.1", "-2"]),
    (AmountText, ["0", "0.0", "5.50"], ["-0.1", "1" + "0" * 16]),
    (HourlyRateText, ["-0.04", "0.0004"], ["1.1", "-2"]),
    (Figure, ["-1", "1" * 40 + "." + "1" * 40], ["1" * 41]),
]  # fmt: skip
NO_FIGURES: list[Any] = [
    1, 1.5, None, True, "", "x", "1e5", "NaN", "Infinity", "-", " 1", "1 ", "1\n", "+1", ".5", "5.", "1_000", "１", "٣", [], Decimal(1),
]  # fmt: skip


@pytest.mark.parametrize(("form", "good", "bad"), BOUNDS)
def test_a_figure_is_none_outside_of_what_its_place_can_hold(
    form: Any, good: list[str], bad: list[str]
) -> None:
    # As the venue wrote it: 5.50 stays 5.50.
    assert [str(f) if isinstance(f, str) else f"{f:f}" for f in (read(form, g) for g in good)] == (
        good
    )
    for value in [*bad, *NO_FIGURES]:
        with pytest.raises(ValidationError):
            read(form, value)


@pytest.mark.parametrize(("form", "least", "most"), [(LeverageValue, 1, 100), (SizeDecimals, 0, 8), (FeeTenthsBps, 0, 10_000), (Whole, 1 - 2**64, 2**64 - 1)])  # fmt: skip
def test_a_whole_number_has_bounds(form: Any, least: int, most: int) -> None:
    assert (read(form, least), read(form, most)) == (least, most)
    for bad in (least - 1, most + 1, str(most), True, 1.0, None):
        with pytest.raises(ValidationError):
            read(form, bad)
