"""The purse's book keeps the payments that may still have to be flagged."""

from __future__ import annotations

from datetime import timedelta

from domain.ledger.events.payloads import PaidFee
from domain.ledger.state.purse_book import EMPTY, FRESH, PAYMENTS_KEPT, PurseBook, with_payment
from tests.world import START


def paid(
    book: PurseBook, name: str, amount: int, *, after: timedelta, resource: str | None = None
) -> PurseBook:
    fee = PaidFee(
        fee_kind="x402",
        payee="0x" + "11" * 20,
        nonce=name,
        purse="0x" + "22" * 20,
        resource=resource,
    )
    return with_payment(book, f"e_{name}", START + after, amount, fee)


def flooded(book: PurseBook, *, after: timedelta) -> PurseBook:
    for n in range(PAYMENTS_KEPT + 1):
        book = paid(book, f"dust {n}", 1, after=after)
    return book


def test_dust_pushes_out_no_payment_that_nobody_has_explained() -> None:
    book = paid(EMPTY, "kept from the owner", 5_000_000, after=timedelta())
    book = flooded(book, after=timedelta(minutes=1))
    assert "kept from the owner" in book.newest
    assert len(book.newest) == PAYMENTS_KEPT
    assert book.paid == 5_000_000 + PAYMENTS_KEPT + 1


def test_what_a_bill_explains_and_what_waited_a_day_goes_first() -> None:
    book = paid(EMPTY, "of a bill", 9, after=timedelta(), resource="https://api.example/report")
    book = paid(book, "of yesterday", 9, after=timedelta())
    book = flooded(book, after=FRESH)
    assert not {"of a bill", "of yesterday"} & book.newest.keys()
