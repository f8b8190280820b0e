"""The purse of a mandate on its pages: what is in it, what it paid, what may still be paid."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from app.components import purse as component
from chain.contracts.purse import bill_nonce
from tests.app.site import Page, Site
from tests.app.test_exports import read as read_csv
from tests.app.test_pages import fine
from tests.app.test_sending import send
from tests.purses import PAYEE, URL, Purse, opened
from tests.tools.keeper.test_transfers_chain import ticks
from tests.tools.paying import PAYEE as SELLER
from tests.tools.paying import paid as signed_bill
from tests.tools.paying import required, settled
from tests.world import working

pytestmark = pytest.mark.anyio
HOST = "data.example"
WEEK = "2026-W47"


def part(page: Page, name: str = "purse") -> str:
    """What a reader sees of a section."""
    return " ".join(page.one("section", id=name).text.split())


async def bought(purse: Purse, amount: str) -> dict[str, Any]:
    """A bill that is made here, and settled by its seller."""
    told = await signed_bill(purse.m, amount)
    assert await settled(purse.world, told["payment_payload"])
    return told


async def test_a_mandate_shows_its_purse_and_one_without_shows_none(paying: Site) -> None:
    purse = await opened(paying.world, purse={"per_payment_usdc": "5", "float_usdc": "30"})
    _, browser, base = await paying.of(_is(purse))
    empty = await browser.get(base)
    fine(empty)
    assert "In the purse now0.00 USDC" in part(empty)
    assert "Last payments" not in part(empty)
    assert "Take the money back" not in part(empty)
    await purse.fund("20")
    await bought(purse, "1.5")
    await purse.pay("0.25")
    open_bill = await signed_bill(purse.m, "2")
    await ticks(paying.world).round()
    page = await browser.get(base)
    fine(page)
    said = part(page)
    for text in (
        "In the purse now18.25 USDC",
        "at most 30.00 USDC",
        "Limit per payment5.00 USDC",
        "Who may be paidanyone",
        "Paid in all1.75 USDC",
        "Paid today1.75 USDC of 250.00 USDC",
        "2.00 USDC reserved",
        "Open payments",
        "only the agent can put this money back",
        "with public_id " + purse.m.id,
    ):
        assert text in said, text
    told = (await purse.m.read())["payments"]
    assert [(p["amount_usdc"], p["host"], p["told_by"]) for p in told] == [
        ("0.250000", None, None), ("1.500000", HOST, "bill"),
    ]  # fmt: skip
    assert said.count(HOST) == 2  # the bill that is open, and the one that was paid
    assert "The agent has not said for what" in said
    copied = {e.attributes["data-copy"] for e in page.all("span") if "data-copy" in e.attributes}
    assert {p["tx_hash"] for p in told} | {p["pay_to"] for p in told} <= copied
    assert [p["pay_to"].lower() for p in told] == [PAYEE, SELLER]
    assert page.all("time", datetime=open_bill["bill"]["valid_before"])
    _, other, there = await paying.of(working(paying.world))
    assert not (await other.get(there)).all("section", id="purse")


async def test_what_the_agent_reports_of_a_payment_names_its_site(paying: Site) -> None:
    purse = await opened(paying.world)
    await purse.fund("20")
    await purse.pay("0.25")
    (payee,) = {p["pay_to"] for p in await _payments(purse)}
    payload = {"fee_kind": "x402", "resource": URL, "payee": payee, "salt": purse.salt}
    told = await purse.m.as_agent(
        "mandate_report_event", kind="fee", amount_usdc="0.25", payload=payload
    )
    assert told.status == 201, told.body
    (payment,) = await _payments(purse)
    assert (payment["host"], payment["told_by"]) == (HOST, "report")
    _, browser, base = await paying.of(_is(purse))
    assert HOST in part(await browser.get(base))


async def test_what_a_payment_bought_is_shown_as_text_alone(paying: Site) -> None:
    purse = await opened(paying.world)
    await purse.fund("20")
    url, bill = "https://<b>all=your&money</b>.example/", purse.bill("1")
    bill = replace(bill, nonce=bill_nonce(0, url, PAYEE, purse.salt))
    await purse.mined(purse.m.owner_wallet, purse.settlement(bill))
    await ticks(paying.world).round()
    payload = {"fee_kind": "x402", "resource": url, "payee": PAYEE, "salt": purse.salt}
    told = await purse.m.as_agent(
        "mandate_report_event", kind="fee", amount_usdc="1", payload=payload
    )
    assert told.status == 201, told.body
    _, browser, base = await paying.of(_is(purse))
    page = await browser.get(base)
    fine(page)
    assert "<b>all=your&money<" in part(page)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("owner_pause_call", "While the agent is paused, nothing can be paid out of the purse"),
        ("owner_stop_call", "What is left goes back into the vault before the result is fixed"),
    ],
)
async def test_taking_back_says_what_is_possible(paying: Site, call: str, says: str) -> None:
    purse = await opened(paying.world)
    await purse.fund("20")
    await signed_bill(purse.m, "2")
    await ticks(paying.world).round()
    told: Any = (await purse.m.as_owner(call)).body
    await purse.m.recorded(purse.m.owner_wallet, told["call"])
    _, browser, base = await paying.of(_is(purse))
    said = part(await browser.get(base))
    assert says in said
    assert "Send this to the agent" not in said
    assert ("Open payments" in said) == (call == "owner_pause_call")
    assert not re.search(r"drain|sweep|epoch", said)


async def test_open_payments_are_made_void_from_the_page_and_gone_from_it(paying: Site) -> None:
    world, purse = paying.world, await opened(paying.world, approval_above_usdc="5")
    _, browser, base = await paying.of(_is(purse))
    assert f"{base}/void" not in (await browser.get(base)).links()
    await purse.fund("20")
    await signed_bill(purse.m, "2")
    asked = {"payment_required": required(world, "6"), "max_amount": "6", "why": "a map"}
    assert (await purse.m.as_agent("mandate_pay", **asked)).status == 202
    await ticks(world).round()
    before = await browser.get(base)
    assert f"{base}/void" in before.links()
    assert "An action needs your approval" in before.said
    page = await browser.get(f"{base}/void")
    fine(page)
    for text in (
        "Every payment that the agent has signed and that is not paid yet becomes void",
        "The agent can sign new payments afterwards",
        "the purse of your vault",
        f"2.00 USDC · {HOST}",
        "Tried out just now: it works",
    ):
        assert text in page.said, text
    assert (await send(purse.m, browser, page, base)).headers["Location"] == base
    after = await browser.get(base)
    fine(after)
    assert "Open payments made void" in after.one("section", id="record").text
    assert not after.all("section", class_="ask")
    assert "An action needs your approval" not in after.said
    assert "can only be paid until then" not in part(after)
    # Made void once more, its own page does not take the first for it.
    page = await browser.get(f"{base}/void")
    assert page.one("input", name="for").attributes["value"].startswith("void.")
    assert (await send(purse.m, browser, page, base)).headers["Location"] == base


async def test_a_payment_that_is_made_while_its_owner_makes_all_void_stays_made(
    paying: Site,
) -> None:
    world, purse = paying.world, await opened(paying.world)
    _, browser, base = await paying.of(_is(purse))
    await purse.fund("20")
    first, second = await signed_bill(purse.m, "2"), await signed_bill(purse.m, "3")
    await ticks(world).round()
    page = await browser.get(f"{base}/void")
    assert f"2.00 USDC · {HOST}" in page.said
    assert await settled(world, first["payment_payload"])  # its seller is faster
    assert (await send(purse.m, browser, page, base)).headers["Location"] == base
    assert not await settled(world, second["payment_payload"])
    await ticks(world).round()
    after = await browser.get(base)
    fine(after)
    assert "In the purse now18.00 USDC" in part(after)
    assert "can only be paid until then" not in part(after)
    assert "Open payments made void" in after.one("section", id="record").text
    record = (await browser.get(f"{base}/record")).said
    assert "2.00 USDC" in record
    assert "3.00 USDC" not in record.split("Open payments made void")[0]


async def test_of_many_open_payments_a_page_lists_some_and_sums_the_others(
    paying: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(component, "BILLS_SHOWN", 1)
    purse = await opened(paying.world, purse={"per_payment_usdc": "5", "float_usdc": "30"})
    _, browser, base = await paying.of(_is(purse))
    await purse.fund("20")
    for name in ("first", "second", "third"):
        await signed_bill(purse.m, "2", idempotency_key=name)
    await ticks(paying.world).round()
    for path in (base, base + "/void"):
        page = await browser.get(path)
        fine(page)
        assert "2 more open payments: 4.00 USDC in all" in " ".join(page.said.split()), path


async def _payments(purse: Purse) -> list[dict[str, Any]]:
    await ticks(purse.world).round()
    told = await purse.m.as_owner("mandate_get", parts="payments")
    body: Any = told.body
    return list(body["payments"])


async def _is(purse: Purse) -> Any:
    return purse.m


# -- a payment that needs its owner


async def held(purse: Purse, amount: str, **more: Any) -> tuple[str, dict[str, Any]]:
    """The approval item of a payment, and what its agent asked for."""
    asked = {
        "payment_required": required(purse.world, amount, **more),
        "max_amount": amount,
        "why": "a map of the <b>sea</b>",
    }
    told: Any = await purse.m.as_agent("mandate_pay", **asked)
    assert told.status == 202, told.body
    return told.body["approval"]["approval_id"], asked


async def test_a_payment_that_needs_its_owner_says_who_is_paid_for_what_and_what_a_yes_permits(
    paying: Site,
) -> None:
    limits = {"per_payment_usdc": "8", "per_day_usdc": "9", "float_usdc": "9"}
    purse = await opened(paying.world, purse=limits, approval_above_usdc="5")
    await purse.fund("9")
    await bought(purse, "1")
    await ticks(paying.world).round()
    item, asked = await held(purse, "6")
    _, browser, base = await paying.of(_is(purse))
    path = f"{base}/approvals/{item}"
    for at in (path, base):
        page = await browser.get(at)
        fine(page)
        for text in (
            "Payment needs your approval: 6.00 USDC",
            "a map of the <b>sea</b>",
            "The agent’s own words. Nobody has checked them.",
            f"Payment at{HOST}",
            URL,
            "as the agent told it",
            "Within the limit per payment of 8.00 USDC",
            "Leaves 2.00 USDC of the 9.00 USDC that may be paid today",
            "The purse holds 8.00 USDC, enough for this payment",
            "Your yes lets the agent pay 6.00 USDC to this payee once, until",
        ):
            assert text in page.said, (at, text)
        assert page.all("dd", data_says="target")[0].text.lower() == SELLER.lower()
        assert "not on your list" not in page.said
        assert "could not be tried out" not in page.said
    page = await browser.get(path)
    assert "Paid today1.00 USDC of 9.00 USDC" in page.said
    assert "This payment, of the limit per payment6.00 USDC of 8.00 USDC" in page.said
    assert page.one("span", data_says="vault").text == purse.address
    assert "A payment needs your approval: 6.00 USDC." in (await browser.get("/app/notices")).said
    answered = await browser.submit(path, path, decision="approve")
    assert answered.status == 303
    assert "Approved" in (await browser.get(path)).said
    made: Any = await purse.m.as_agent("mandate_pay", **asked)
    signature = purse.m.agent_wallet.sign_typed(made.body["typed_data"])
    paid: Any = await purse.m.as_agent("mandate_pay", **asked, signature=signature)
    assert await settled(paying.world, paid.body["payment_payload"])
    await ticks(paying.world).round()
    page = await browser.get(path)
    fine(page)
    assert "Done" in page.said
    assert "Paid in all7.00 USDC" in part(await browser.get(base))


async def test_a_payment_that_the_purse_cannot_make_says_so(paying: Site) -> None:
    purse = await opened(paying.world, approval_above_usdc="5")
    await purse.fund("9")
    await ticks(paying.world).round()
    item, _ = await held(purse, "6")
    await purse.pay("4")
    await ticks(paying.world).round()
    _, browser, base = await paying.of(_is(purse))
    page = await browser.get(f"{base}/approvals/{item}")
    fine(page)
    assert "The purse holds 5.00 USDC: the agent has to put more into the purse first" in page.said
    declined = await browser.submit(
        f"{base}/approvals/{item}", f"{base}/approvals/{item}", decision="decline"
    )
    assert declined.status == 303
    assert "Declined" in (await browser.get(f"{base}/approvals/{item}")).said


async def test_a_declined_payment_takes_nothing_out_of_the_purse(paying: Site) -> None:
    purse = await opened(paying.world, approval_above_usdc="15")
    await purse.fund("20")
    await ticks(paying.world).round()
    item, asked = await held(purse, "16")
    _, browser, base = await paying.of(_is(purse))
    assert "16.00 USDC reserved" in part(await browser.get(base))
    path = f"{base}/approvals/{item}"
    assert (await browser.submit(path, path, decision="decline")).status == 303
    said = part(await browser.get(base))
    assert "reserved" not in said
    assert "Open payments" not in said
    assert "enough for this payment" not in (await browser.get(path)).said
    again: Any = await purse.m.as_agent("mandate_pay", **asked)
    assert again.body["error"] == "owner_declined"
    await bought(purse, "15")  # what is left suffices
    await ticks(paying.world).round()
    assert "In the purse now5.00 USDC" in part(await browser.get(base))


async def test_a_payment_that_waits_while_the_agent_is_paused_says_so(paying: Site) -> None:
    purse = await opened(paying.world, approval_above_usdc="5")
    await purse.fund("9")
    await ticks(paying.world).round()
    item, _ = await held(purse, "6")
    _, browser, base = await paying.of(_is(purse))
    paths = (f"{base}/approvals/{item}", base)
    for path in paths:
        checks = (await browser.get(path)).one("ul", class_="checks").text
        assert "The agent is paused" not in checks
    told: Any = (await purse.m.as_owner("owner_pause_call")).body
    await purse.m.recorded(purse.m.owner_wallet, told["call"])
    for path in paths:
        page = await browser.get(path)
        fine(page)
        assert "The agent is paused" in page.one("ul", class_="checks").text, path


async def test_a_payment_that_was_made_is_not_said_to_lack_money(paying: Site) -> None:
    purse = await opened(paying.world, approval_above_usdc="5")
    await purse.fund("9")
    await ticks(paying.world).round()
    item, asked = await held(purse, "6")
    _, browser, base = await paying.of(_is(purse))
    path = f"{base}/approvals/{item}"
    assert (await browser.submit(path, path, decision="approve")).status == 303
    assert "enough for this payment" in (await browser.get(path)).said
    made: Any = await purse.m.as_agent("mandate_pay", **asked)
    signature = purse.m.agent_wallet.sign_typed(made.body["typed_data"])
    paid: Any = await purse.m.as_agent("mandate_pay", **asked, signature=signature)
    assert await settled(paying.world, paid.body["payment_payload"])
    await ticks(paying.world).round()
    page = await browser.get(path)
    assert "Done" in page.said
    assert "has to put more into the purse" not in page.said


async def test_a_named_payee_is_said_to_be_named(paying: Site) -> None:
    limits = {"payees": ["0x" + "00" * 19 + "b2"]}
    purse = await opened(paying.world, purse=limits, approval_above_usdc="5")
    await purse.fund("9")
    item, _ = await held(purse, "6")
    _, browser, base = await paying.of(_is(purse))
    assert "Your terms name this payee." in (await browser.get(f"{base}/approvals/{item}")).said


# -- in the owner's books


async def test_payments_stand_in_every_book_with_payee_site_price_and_transaction(
    paying: Site,
) -> None:
    purse = await opened(paying.world)
    await purse.fund("20")
    await bought(purse, "1.5")
    await purse.pay("0.25")
    (unsaid,) = [p for p in await _payments(purse) if p["host"] is None]
    payload = {"fee_kind": "x402", "resource": URL, "payee": unsaid["pay_to"], "salt": purse.salt}
    told = await purse.m.as_agent(
        "mandate_report_event", kind="fee", amount_usdc="0.25", payload=payload
    )
    assert told.status == 201, told.body
    _, browser, base = await paying.of(_is(purse))
    *rows, sums = read_csv((await browser.get(f"{base}/statement.csv")).words[1:])
    paid = [r for r in rows if r["payee"]]
    payments = {p["tx_hash"]: p for p in await _payments(purse)}
    assert [
        (r["what"], r["amount_usdc"], r["payee"], r["site_as_told"], r["transaction"]) for r in paid
    ] == [
        ("Paid out of the purse", p["amount_usdc"], p["pay_to"], HOST, tx)
        for tx, p in reversed(payments.items())
    ]
    assert {r["site_as_told"] for r in rows if not r["payee"]} == {""}
    week: Any = (await purse.m.as_owner("owner_statement", week=WEEK)).body
    columns = {
        "taken_out_usdc": week["spent"]["total"],
        "paid_x402_usdc": week["spent"]["payments"],
        "in_purse_usdc": week["spent"]["in_purse"],
        "fee_tools_usdc": week["fees"]["by_type"]["tools"],
    }
    assert columns["paid_x402_usdc"] == "1.750000"
    for name, amount in columns.items():
        assert sums[name] == amount, name
        assert sum(Decimal(r[name] or 0) for r in rows) == Decimal(amount), name
    assert sum(Decimal(r["amount_usdc"]) for r in paid) == Decimal(columns["paid_x402_usdc"])
    for path in ("rows", f"statement?week={WEEK}", "record", ""):
        page = await browser.get(f"{base}/{path}".rstrip("/"))
        fine(page)
        assert page.said.count("Paid out of the purse") == 2, path
        for tx in payments:
            assert tx in page.source, path
    for path in ("rows", f"statement?week={WEEK}"):
        said = (await browser.get(f"{base}/{path}")).said
        for text in (
            "What the agent took out of the vault",
            "Paid for web services1.75 USDC",
            "Change of what lies in the purse18.25 USDC",
            "Together20.00 USDC",
        ):
            assert text in said, (path, text)
    _, other, there = await paying.of(working(paying.world))
    assert "Paid for web services" not in (await other.get(f"{there}/rows")).said
