"""Records: frozen replies, as templates read them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from jinja2 import UndefinedError

from app.pages import order, orders
from app.replies import Record, freeze, thaw
from app.templates import environment

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
        environment("en")
        .from_string("{{ r.items[0].id }} {{ r.items[0].update is none }}")
        .render(r=record)
        == "m_1 True"
    )
    for text in (
        "{{ r.itmes }}",
        "{% if r.itmes %}{% endif %}",
        "{{ r.itmes is none }}",
        "{{ r.keys }}",
    ):
        with pytest.raises(UndefinedError):
            environment("en").from_string(text).render(r=record)


def test_a_page_keeps_its_version_while_only_what_it_does_not_show_has_moved() -> None:
    market = {
        "product": "BTC",
        "mark_px": "64000",
        "status": "open",
        "bid_px": "63999",
        "max_leverage": 40,
    }
    market |= {"funding_hourly": "0.0000125", "sz_decimals": 5, "min_notional_usdc": "10.000000"}
    me = {"mode": "paper", "network": "testnet"}

    def ticket(bid: str) -> str:
        products = {"network": "testnet", "products": [market | {"bid_px": bid}], "stale": False}
        return repr(orders.ticket(freeze(me), freeze(products), {}))

    assert ticket("63999") == ticket("63990")
    fields = dict.fromkeys(
        ("book", "partial", "size", "product", "order_id", "why", "refusal"), None
    ) | {
        "status": "resting",
        "side": "buy",
        "tif": "gtc",
        "prepared_by": {"kind": "owner", "id": "u_1"},
    }

    def page(checked_at: str, status: str = "open") -> str:
        seen = {"oid": 1, "status": status, "checked_at": checked_at}
        return repr(order.view(freeze(fields | {"venue": seen}), {}))

    assert page("12:00") == page("12:01") != page("12:01", "filled")
