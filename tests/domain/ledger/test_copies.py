"""Copies of frozen records."""

from dataclasses import FrozenInstanceError, dataclass, replace

import pytest

from domain.ledger.fast_copy import fast_constructor, fast_replace
from domain.ledger.state.claimed import EMPTY, ClaimedLot


def test_a_copy_is_what_replace_makes_and_the_record_stays():
    before = ClaimedLot(of="x", cost=3)
    assert fast_replace(before, cost=5, mark=7) == replace(before, cost=5, mark=7)
    assert before == ClaimedLot(of="x", cost=3)
    assert fast_replace(EMPTY, trades=1) == replace(EMPTY, trades=1)


def test_a_copy_is_frozen_and_hashes_as_its_like():
    copy = fast_replace(ClaimedLot(of="x"), of="y")
    with pytest.raises(FrozenInstanceError):
        copy.of = "z"
    assert hash(copy) == hash(ClaimedLot(of="y"))


def test_a_name_that_is_no_field_is_refused():
    with pytest.raises(KeyError):
        fast_replace(EMPTY, trade=1)


@dataclass(frozen=True, slots=True)
class Computed:
    one: int
    two: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "two", self.one)


@dataclass(frozen=True)
class Open:
    one: int
    two: int


@pytest.mark.parametrize("record", [Computed(1, 2), Open(1, 2)])
def test_a_record_that_is_more_than_its_slots_is_refused(record):
    with pytest.raises(TypeError):
        fast_replace(record, one=3)


def test_what_is_made_of_all_values_is_what_the_constructor_makes():
    made = fast_constructor(ClaimedLot)("x", 3, 4, None, None)
    assert made == ClaimedLot(of="x", cost=3, value=4)
    assert hash(made) == hash(ClaimedLot(of="x", cost=3, value=4))
    with pytest.raises(FrozenInstanceError):
        made.of = "z"


def test_a_field_too_few_is_refused_so_that_a_new_one_is_never_forgotten():
    with pytest.raises(TypeError):
        fast_constructor(ClaimedLot)("x", 3, 4, None)
