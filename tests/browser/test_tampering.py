"""Whatever is altered on its way to the browser, the button goes off and the page says why; here
the pages as the browser runs them, beside the same checks over every digit in tests/app.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from app.pages import transactions
from app.words.fields import FIELDS as MEANINGS
from domain.mandates.terms import FIELDS
from tests.app.lives import created, paused, sent, stopped
from tests.browser.conftest import Stage, a_stage
from tests.browser.test_twice import whole_exit
from tests.browser.wallet import SENDS
from tests.browser.window import MARKS
from tests.purses import opened
from tests.world import Evm, Mandated, World, a_world, drafted, signed, working

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


@pytest.fixture
async def stage(sqlite_url: str, evm: Evm, chromium: Any) -> AsyncIterator[Stage]:
    """A service whose mandates may have purses."""
    async with a_world(sqlite_url, evm, purses=True) as world, a_stage(world, chromium) as found:
        yield found


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
    "the factory on the screen": lambda t: re.sub(r'(data-(?:says|shows)="factory">)(<[^>]*>)*', r"\g<0>0x", t),
    **{f"{name} on the screen": lambda t, name=name: re.sub(
        rf'(data-shows="{name}">(?:<[^>]*>)*)', r"\g<1>9", t
    ) for name in ("budget", "agent", "before_pause", "today", "ever", "digest", "here", "name", "version", "chain")},
    **{f"the meaning of {name}": lambda t, name=name: re.sub(rf'(data-means="{name}">)', r"\g<1>9", t)
       for name, (_, kind, _label) in MEANINGS.items() if kind not in ("text", "address", "hash", "nonce")},
    "who holds clause 1": lambda t: t.replace('data-by="Contract"', 'data-by="Venue"', 1),
    "who holds clause 6": lambda t: re.sub(r'(data-clause="6".*?data-by=")[^"]*', r"\g<1>Contract", t, flags=re.S),
    "who holds clause 7": lambda t: re.sub(r'(data-clause="7".*?data-by=")[^"]*', r"\g<1>Contract", t, flags=re.S),
    "who holds an entry": lambda t: re.sub(r'(<tbody>.*?data-by=")Contract', r"\g<1>Service guard", t, count=1, flags=re.S),
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
        # What no check can find out is marked where it stands.
        marked = await window.page.locator("main [data-unchecked] .by").all_inner_texts()
        assert len(marked) >= 3
        assert set(marked) == {"unchecked words"}
        wallet.account = "0x" + "44" * 20
        await window.page.unroute_all()
        await window.goto(path)
        await window.press("Sign these terms")
        await window.says("Your wallet shows another account.")
    assert "eth_signTypedData_v4" not in wallet.asked


async def _altered(window: Any, path: str, subject: str, alter: Alters) -> None:
    """Open a page as somebody between changed it."""

    async def between(route: Any) -> None:
        answer = await route.fetch()
        text = await answer.text()
        changed = alter(text)
        assert changed != text, subject
        await route.fulfill(response=answer, body=changed)

    await window.page.unroute_all()
    await window.page.route(lambda url: url == window.base + path, between)
    await window.goto(path)


def calldata(at: int) -> Alters:
    """Change a digit of each calldata, counted from its beginning, or with a minus from its end."""

    def other(m: re.Match[str]) -> str:
        digits = list(m[2])
        digits[at] = "1" if digits[at] != "1" else "2"
        return m[1] + "".join(digits) + '"'

    return lambda text: re.sub(r'("data": ")(0x[0-9a-f]+)"', other, text)


def shown(name: str) -> Alters:
    """Change what the screen says, by the name of the words."""
    return lambda text: re.sub(
        rf'(data-says="{name}">)((?:<[^>]*>)*)(.)', r"\g<1>\g<2>9\g<3>", text
    )


SENDING: dict[str, Alters] = {
    "the function": calldata(5),
    "the receiver": lambda t: re.sub(r'("to": "0x)[0-9a-fA-F]{4}', r"\g<1>dead", t),
    "the network of the call": swap('"chain_id": 31337', '"chain_id": 8453'),
    "the network of the page": swap('data-chain="31337"', 'data-chain="8453"'),
    "ether that goes along": swap('"value": "0"', '"value": "1"'),
    "the session’s owner": swap('data-owner="0x', 'data-owner="0x0'),
}
BARE: dict[str, Alters] = {
    "bytes behind the call": swap('"data": "0x', '"data": "0x00'),
    "the vault on the screen": shown("vault"),
}


@dataclass(frozen=True)
class Sends:
    """A page that sends: how its mandate comes about, its query, what of it may be altered, and
    its place where that is not its name.
    """

    make: Callable[[World], Awaitable[Mandated]]
    alters: Mapping[str, Alters]
    query: Callable[[Mandated], str] = lambda _: ""
    place: str | None = None


async def filled(world: World) -> Mandated:
    """A working mandate with money in its purse."""
    purse = await opened(world)
    await purse.fund("20")
    return purse.m


async def filled_and_stopped(world: World) -> Mandated:
    """A mandate that was stopped with money in its purse."""
    m = await filled(world)
    await sent(m, "owner_stop_call")
    return m


async def filled_and_settled(world: World) -> Mandated:
    """A mandate whose result is fixed while money lies in its purse."""
    m = await filled(world)
    await sent(m, "owner_withdraw_call")
    return m


PAGES = {
    "create": Sends(signed, {
        "a digit of the calldata": calldata(200), "the factory on the screen": shown("factory"),
    }),
    "fund": Sends(created, {
        "a digit of both amounts": calldata(-1), "a digit of the spender": calldata(60),
        "the amount on the screen": shown("amount"), "the amount on the button": shown("paid"), "the USDC contract on the screen": shown("usdc"),
        "the vault on the screen": shown("vault"),
    }, lambda _: "?amount=120.50"),
    "pause": Sends(working, BARE),
    "resume": Sends(paused, {
        "a digit of the agent": calldata(-1), "the agent on the screen": shown("agent"),
        "the vault on the screen": shown("vault"),
    }),
    "record": Sends(working, BARE, place="record-value"),
    "stop": Sends(working, BARE),
    "withdraw": Sends(working, BARE),
    "unwind": Sends(stopped, {
        "a digit of the target": calldata(40), "a digit of the exit": calldata(250),
        "the target on the screen": shown("target"), "the exit on the screen": shown("exit"),
        "the vault on the screen": shown("vault"),
    }, whole_exit),
    "void": Sends(filled, {
        "bytes behind the call": swap('"data": "0x', '"data": "0x00'),
        "the purse on the screen": shown("purse"),
    }),
    "drain": Sends(filled_and_stopped, {
        "a digit of the hub": calldata(40), "the hub on the screen": shown("hub"),
        "the vault on the screen": shown("vault"),
    }),
    "sweep": Sends(filled_and_settled, {
        "a digit of the vault": calldata(-1), "the hub on the screen": shown("hub"),
        "the vault on the screen": shown("vault"),
    }),
}  # fmt: skip


def test_every_page_that_sends_is_tampered_with() -> None:
    assert set(PAGES) == set(transactions.PATHS)


@pytest.mark.parametrize("kind", PAGES)
async def test_a_transaction_that_was_altered_cannot_be_sent(stage: Stage, kind: str) -> None:
    page = PAGES[kind]
    m = await page.make(stage.world)
    await stage.world.mint(m.owner_wallet.address, "1000")
    wallet, path = stage.wallet(m), f"/app/mandates/{m.id}/{page.place or kind}{page.query(m)}"
    async with stage.window(wallet) as window:
        await window.sign_in()
        await window.goto(path)
        await window.page.locator("[data-go]:enabled").wait_for()
        for what, alter in {**SENDING, **page.alters}.items():
            await _altered(window, path, what, alter)
            await window.says("is not what this button says")
            assert await window.page.locator("[data-go]").is_disabled(), what
    assert wallet.count(*SENDS) == 0
