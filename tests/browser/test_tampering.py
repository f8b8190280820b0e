"""Whatever is altered on its way to the browser, the button goes off and the page says why; here
the pages as the browser runs them, beside the same checks over every digit in tests/app.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from domain.mandates.terms import FIELDS
from tests.browser.conftest import Stage
from tests.browser.wallet import SENDS
from tests.browser.window import MARKS
from tests.world import drafted, signed, working

pytestmark = [*MARKS]
Alters = Callable[[str], str]


def digit_of(name: str) -> Alters:
    """Change the last digit of one of the 17 values in the data to sign."""
    held = re.compile(rf'("{name}": "?)([^",}}]*)([^",}}])("?[,}}])')

    def alter(text: str) -> str:
        return held.sub(lambda m: m[1] + m[2] + ("1" if m[3] != "1" else "2") + m[4], text)

    return alter


def swap(before: str, after: str) -> Alters:
    return lambda text: text.replace(before, after)


TERMS: dict[str, Alters] = {
    **{f"the value {name}": digit_of(name) for name, _ in FIELDS["2"]},
    "a sentence": swap("more than 100.00 USDC", "more than 101.00 USDC"),
    "a line of the table": swap(">100000000<", ">100000001<"),
    "a target of the list": lambda t: re.sub(
        r'("address": "0x[0-9a-fA-F]{39})([0-9a-fA-F])', lambda m: m[1] + ("0" if m[2] != "0" else "1"), t
    ),
    "a selector of the list": lambda t: re.sub(r'("selector": "0x)[0-9a-f]', r"\g<1>z", t, count=1),
    "the network": swap('data-chain="31337"', 'data-chain="8453"'),
    "the session’s owner": swap('data-owner="0x', 'data-owner="0x0'),
    "the factory on the screen": lambda t: re.sub(r'(data-says="factory">)(<[^>]*>)*', r"\g<0>0x", t),
}  # fmt: skip


async def test_terms_that_were_altered_cannot_be_signed(stage: Stage) -> None:
    m = await drafted(stage.world, approval_above_usdc="60")
    wallet, path = stage.wallet(m), f"/app/mandates/{m.id}/review"
    async with stage.window(wallet) as window:
        await window.sign_in()
        await window.goto(path)
        await window.page.locator("#checks li.ok").nth(3).wait_for()
        assert await window.button("Sign these terms").is_enabled()
        for what, alter in TERMS.items():
            await _altered(window, path, what, alter)
            await window.says("Do not sign. Tell the operator.")
            assert await window.button("Sign these terms").is_disabled(), what
            assert await window.page.locator("#checks li.no").count() >= 1, what
        wallet.account = "0x" + "44" * 20
        await window.page.unroute("**/review")
        await window.goto(path)
        await window.press("Sign these terms")
        await window.says("Your wallet shows another account.")
    assert "eth_signTypedData_v4" not in wallet.asked


async def _altered(window: Any, path: str, what: str, alter: Alters) -> None:
    """Open a page as somebody between changed it."""

    async def between(route: Any) -> None:
        answer = await route.fetch()
        text = await answer.text()
        changed = alter(text)
        assert changed != text, what
        await route.fulfill(response=answer, body=changed)

    pattern = "**/" + path.rpartition("/")[2]
    await window.page.unroute(pattern)
    await window.page.route(pattern, between)
    await window.goto(path)


def calldata(at: int) -> Alters:
    """Change a digit of the calldata, counted from its end."""

    def alter(text: str) -> str:
        def other(m: re.Match[str]) -> str:
            data = m[2]
            return m[1] + data[:at] + ("1" if data[at] != "1" else "2") + data[at + 1 :] + '"'

        return re.sub(r'("data": ")(0x[0-9a-f]+)"', other, text)

    return alter


SENDING: dict[str, Alters] = {
    "a digit of the calldata": calldata(200),
    "the function": calldata(5),
    "the receiver": lambda t: re.sub(r'("to": "0x)[0-9a-fA-F]{4}', r"\g<1>dead", t),
    "the network of the call": swap('"chain_id": 31337', '"chain_id": 8453'),
    "the network of the page": swap('data-chain="31337"', 'data-chain="8453"'),
    "ether that goes along": swap('"value": "0"', '"value": "1"'),
    "the session’s owner": swap('data-owner="0x', 'data-owner="0x0'),
}


@pytest.mark.parametrize("kind", ["create", "pause", "withdraw"])
async def test_a_transaction_that_was_altered_cannot_be_sent(stage: Stage, kind: str) -> None:
    m = await (signed if kind == "create" else working)(stage.world)
    wallet, path = stage.wallet(m), f"/app/mandates/{m.id}/{kind}"
    async with stage.window(wallet) as window:
        await window.sign_in()
        await window.goto(path)
        assert await window.page.locator("[data-go]").is_enabled()
        for what, alter in SENDING.items():
            if what == "a digit of the calldata" and kind != "create":
                alter = swap('"data": "0x', '"data": "0x00')
            await _altered(window, path, what, alter)
            await window.says("is not what this button says")
            assert await window.page.locator("[data-go]").is_disabled(), what
    assert wallet.count(*SENDS) == 0
