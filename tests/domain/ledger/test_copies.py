"""Copies of frozen records."""

from dataclasses import FrozenInstanceError, dataclass, replace

import pytest

from domain.ledger.claimed import EMPTY, Part
from domain.ledger.copies import changed, maker


def test_a_copy_is_what_replace_makes_and_the_record_stays():
    before = Part(of="x", cost=3)
    assert changed(before, cost=5, mark=7) == replace(before, cost=5, mark=7)
    assert before == Part(of="x", cost=3)
    assert changed(EMPTY, trades=1) == replace(EMPTY, trades=1)


def test_a_copy_is_frozen_and_hashes_as_its_like():
    copy = changed(Part(of="x"), of="y")
    with pytest.raises(FrozenInstanceError):
        copy.of = "z"
    assert hash(copy) == hash(Part(of="y"))


def test_a_name_that_is_no_field_is_refused():
    with pytest.raises(KeyError):
        changed(EMPTY, trade=1)


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
        changed(record, one=3)


def test_what_is_made_of_all_values_is_what_the_constructor_makes():
    made = maker(Part)("x", 3, 4, None, None)
    assert made == Part(of="x", cost=3, value=4)
    assert hash(made) == hash(Part(of="x", cost=3, value=4))
    with pytest.raises(FrozenInstanceError):
        made.of = "z"


def test_a_field_too_few_is_refused_so_that_a_new_one_is_never_forgotten():
    with pytest.raises(TypeError):
        maker(Part)("x", 3, 4, None)
