"""Copies of frozen records."""

from dataclasses import FrozenInstanceError, dataclass, fields, replace

import pytest

from domain.ledger.fast_copy import fast_constructor, fast_replace
from domain.ledger.state.claimed import EMPTY, ClaimedLot

BEFORE = ClaimedLot(of="x", cost=3)


@pytest.mark.parametrize(
    ("copy", "like"),
    [
        (fast_replace(BEFORE, cost=5, mark=7), replace(BEFORE, cost=5, mark=7)),
        (fast_replace(EMPTY, trades=1), replace(EMPTY, trades=1)),
        (fast_constructor(ClaimedLot)("x", 3, 4, None, None), ClaimedLot(of="x", cost=3, value=4)),
    ],
    ids=["copy", "copy of an empty book", "made of all values"],
)
def test_a_copy_is_its_like_and_frozen(copy, like):
    assert copy == like
    assert ClaimedLot(of="x", cost=3) == BEFORE
    with pytest.raises(FrozenInstanceError):
        setattr(copy, fields(copy)[0].name, None)


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


def test_what_is_no_copy_of_all_slots_is_refused():
    for record in (Computed(1, 2), Open(1, 2)):
        with pytest.raises(TypeError):
            fast_replace(record, one=3)
    with pytest.raises(KeyError):
        fast_replace(EMPTY, trade=1)
    with pytest.raises(TypeError):  # one too few, so that a new field is never forgotten
        fast_constructor(ClaimedLot)("x", 3, 4, None)
