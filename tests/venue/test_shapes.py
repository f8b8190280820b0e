"""A form is read as its type says."""

from __future__ import annotations

from typing import Any, NotRequired, Required, TypedDict

import pytest

from venue.shapes import Figure, Malformed, Rows, Soft, SoftOrNull, Tally, shape_of


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
