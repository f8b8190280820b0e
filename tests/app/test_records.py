"""Records: frozen replies, as templates read them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from jinja2 import UndefinedError

from app.replies import Record, freeze, thaw
from app.templates import ENV

REPLY = {"items": [{"id": "m_1", "update": None}], "more": {"cursor": "x"}}


@pytest.mark.parametrize(
    "change",
    [
        lambda r: r.__setitem__("more", 1),
        lambda r: r.__delitem__("more"),
        lambda r: r.update(more=1),
        lambda r: r.pop("more"),
        lambda r: r.popitem(),
        lambda r: r.clear(),
        lambda r: r.setdefault("less", 1),
        lambda r: r.__ior__({"more": 1}),
    ],
)
def test_a_record_does_not_change(change: Callable[[Record], object]) -> None:
    record = freeze(REPLY)
    with pytest.raises(TypeError, match="does not change"):
        change(record)
    assert thaw(record) == REPLY


def test_equal_replies_are_one_key_whatever_the_order_of_their_fields() -> None:
    other = {"more": {"cursor": "x"}, "items": [{"update": None, "id": "m_1"}]}
    assert len({freeze(REPLY), freeze(other)}) == 1
    assert len({freeze(REPLY), freeze({**REPLY, "more": None})}) == 2


def test_in_a_template_a_field_hides_a_method_and_an_unknown_field_is_an_error() -> None:
    record = freeze(REPLY)
    assert (
        ENV.from_string("{{ r.items[0].id }} {{ r.items[0].update is none }}").render(r=record)
        == "m_1 True"
    )
    for text in (
        "{{ r.itmes }}",
        "{% if r.itmes %}{% endif %}",
        "{{ r.itmes is none }}",
        "{{ r.keys }}",
    ):
        with pytest.raises(UndefinedError):
            ENV.from_string(text).render(r=record)
