"""Places and turns are shared by holder, whatever one of them asks for."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from domain.shares import holder_to_displace, round_robin

HOLDERS = st.sampled_from("abcdefgh")


def _ask(places: Counter[str], asker: str, all_of_them: int) -> bool:
    """Give the asker a place, and whether it got one."""
    if places.total() >= all_of_them:
        loser = holder_to_displace(places, asker)
        if loser is None:
            return False
        places[loser] -= 1
    places[asker] += 1
    return True


@given(st.lists(HOLDERS, max_size=120), st.integers(1, 40))
def test_whoever_has_less_than_an_equal_share_gets_a_place(asks: list[str], of: int) -> None:
    places = Counter[str]()
    for asker in asks:
        share = of // len({*(+places), asker})
        had = places[asker]
        got = _ask(places, asker, of)
        assert got or had >= share
        assert places.total() <= of


def test_two_who_have_the_same_take_nothing_from_each_other() -> None:
    places = Counter({"a": 5, "b": 5})
    assert not _ask(places, "a", 10)
    places = Counter({"a": 6, "b": 4})
    assert _ask(places, "b", 10)
    assert not _ask(places, "b", 10)
    assert not _ask(places, "a", 10)


def test_who_asks_anew_takes_the_place_of_whoever_has_the_most() -> None:
    places = Counter({"a": 9, "b": 1})
    assert holder_to_displace(places, "c") == "a"
    assert holder_to_displace(places, "a") is None
    assert holder_to_displace({}, "a") is None


@given(st.lists(st.tuples(HOLDERS, st.integers(0, 3)), max_size=80), st.integers(0, 40))
def test_of_many_each_has_its_turn_before_anybodys_second(
    items: list[tuple[str, int]], most: int
) -> None:
    taken = round_robin(items, lambda item: item[0], most)
    assert len(taken) == min(most, len(items))
    left = Counter(who for who, _ in items)
    left.subtract(who for who, _ in taken)
    has = Counter(who for who, _ in taken)
    for who, waits in left.items():
        assert waits == 0 or all(has[who] >= has[other] - 1 for other in has)
    for who in has:
        own = [item for item in items if item[0] == who]
        assert [item for item in taken if item[0] == who] == own[: has[who]]
