"""A form that is refused empties nothing: neither itself nor another form of its page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from multidict import MultiDict

from app.pages.agents import NUMBERS
from app.words.notices import KINDS
from tests.app.desks import a_trading_site, live_at_the_door
from tests.app.lives import LIVES, Life
from tests.app.site import Browser, Element, Page, Site, a_site
from tests.browser.stations import NOWHERE, opened, stations, values_of
from tests.hosted import signing
from tests.surfaces.apps import connecting
from tests.world import Clock, Evm, Mandated, World, a_world, drafted, market_targets
from tools.model.web_push import WebPush, new_private_key
from tools.model.webhook_signing import WebhookSigning

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
BAD = "-1x\u0445"
"""No number, no address, and as a name of two scripts none either."""
OF_THE_PAGE = ("csrf", "key")
TICKED = ("checkbox", "radio")
OFFERED = ("button", "submit")
DESK = ("/app/orders", "/app/books", "/app/own")
ELSEWHERE = ("/app/sign-out", "/app/language")
Key = tuple[str, str, str]
"""A control: where its form is sent, its name, and its value or which of its name it is."""


@dataclass
class Control:
    """What a control sends: its value, where `on`."""

    key: Key
    kind: str
    value: str
    on: bool = True
    options: tuple[str, ...] = ()

    @property
    def state(self) -> object:
        return self.on if self.kind in TICKED else self.value


@dataclass
class Sent:
    """A form of a page, by where it is sent."""

    action: str
    controls: list[Control] = field(default_factory=list)

    @property
    def buttons(self) -> list[Control]:
        return [c for c in self.controls if c.kind in OFFERED]

    def body(self, pressed: Control | None) -> MultiDict[str]:
        """What a browser sends."""
        sent = [c for c in self.controls if c.kind not in OFFERED and c.on]
        return MultiDict((c.key[1], c.value) for c in (*sent, *([pressed] if pressed else ())))


def forms_of(page: Page, path: str) -> list[Sent]:
    """The forms of a page that change something."""
    found: list[Sent] = []
    current: Sent | None = None
    names: dict[tuple[str, str], int] = {}
    chosen: Control | None = None
    for e in page.elements:
        a = e.attributes
        if e.name == "form":
            current = None
            if a.get("method") == "post":
                current = Sent(a.get("action") or path.partition("?")[0])
                found.append(current)
        elif current is None:
            continue
        elif e.name == "option" and chosen is not None:
            chosen.options += (a.get("value", ""),)
            if "selected" in a or len(chosen.options) == 1:
                chosen.value = a.get("value", "")
        elif e.name in ("input", "textarea", "select", "button") and a.get("name"):
            chosen = _control(e, current.action, names)
            current.controls.append(chosen)
    return [f for f in found if f.action not in ELSEWHERE]


def _control(e: Element, action: str, names: dict[tuple[str, str], int]) -> Control:
    a = e.attributes
    kind = a.get("type", "hidden" if "hidden" in a else "text") if e.name == "input" else e.name
    value = e.text.removeprefix("\n") if e.name == "textarea" else a.get("value", "")
    n = names[action, a["name"]] = names.get((action, a["name"]), -1) + 1
    told = value if kind in TICKED or kind in OFFERED else str(n)
    return Control((action, a["name"], told), kind, value, kind not in TICKED or "checked" in a)


def states(forms: Iterable[Sent]) -> dict[Key, object]:
    return {
        c.key: c.state
        for f in forms
        for c in f.controls
        if c.kind not in OFFERED and c.key[1] not in OF_THE_PAGE
    }


def typed_over(form: Sent) -> Sent:
    """The form with everything in it changed."""
    return Sent(form.action, list(_changed(form)))


def _changed(form: Sent) -> Iterator[Control]:
    radios = [c for c in form.controls if c.kind == "radio"]
    last = {c.key[1]: c.key for c in radios}
    for c in form.controls:
        if c.kind == "radio":
            yield replace(c, on=last[c.key[1]] == c.key)
        elif c.kind == "checkbox":
            yield replace(c, on=not c.on)
        elif c.kind == "select":
            yield replace(c, value=c.options[-1])
        elif c.kind in ("hidden", *OFFERED):
            yield c
        else:
            yield replace(c, value="7")


def made_bad(form: Sent) -> Iterator[tuple[str, Sent, Control | None]]:
    """The form with one field after the other made bad, by each of its buttons."""
    for pressed in (*form.buttons,) or (None,):
        if pressed is not None and pressed.key[1] == "set":
            continue
        for n, c in enumerate(form.controls):
            if c.key[1] == "csrf" or c.kind in TICKED or (c.kind in OFFERED and c is not pressed):
                continue
            bad = replace(c, value=BAD if c.key[1] != "key" else BAD * 100)
            controls = [*form.controls[:n], bad, *form.controls[n + 1 :]]
            yield c.key[1], Sent(form.action, controls), bad if c is pressed else pressed


def unanswerable(sent: Sent, bad: str) -> set[Key]:
    """What no page can show as it was sent: a value that a select does not offer or that a person
    cannot type, and a choice that was left open, which an amount typed beside it makes.
    """
    chosen = {c.key[1] for c in sent.controls if c.kind == "radio" and c.on}
    return {
        c.key
        for c in sent.controls
        if (c.kind in ("hidden", "select") and c.key[1] == bad)
        or (c.kind == "radio" and c.key[1] not in chosen)
    }


@dataclass
class Walk:
    """Every form of the pages walked through; what a refusal emptied, and how many were refused."""

    browser: Browser
    lost: dict[str, str] = field(default_factory=dict)
    filled_in: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    clock: Clock | None = None

    def check(self) -> None:
        """Nothing was emptied, and each form that a person fills in was refused on its page."""
        assert self.lost == {}, "\n".join(f"{where}: {what}" for where, what in self.lost.items())
        assert self.filled_in - self.refused == set()

    async def page(self, path: str) -> None:
        """Every form of a page, each of its fields made bad in turn."""
        count = len(forms_of(await self.browser.get(path), path))
        for n in range(count):
            for change in (True, False):
                await self._form(path, n, change=change)

    async def _form(self, path: str, n: int, *, change: bool) -> None:
        done, shown = 0, forms_of(await self.browser.get(path), path)
        while n < len(shown):
            form = typed_over(shown[n]) if change else shown[n]
            if any(c.kind not in ("hidden", *TICKED, *OFFERED) for c in form.controls):
                self.filled_in.add(form.action)
            tries = list(made_bad(form))
            if done >= len(tries):
                return
            name, sent, pressed = tries[done]
            done += 1
            if self.clock is not None:
                self.clock.forward(seconds=61)  # no limit of a minute is met
            answer = await self.browser.post(sent.action, sent.body(pressed))
            assert answer.status < 500, (path, sent.action, name)
            if answer.status < 400 and (pressed is None or pressed.value != "look"):
                shown = forms_of(await self.browser.get(path), path)
                continue
            self._compare(f"{path} ({change=})", shown, sent, name, forms_of(answer, path))

    def _compare(
        self, path: str, shown: list[Sent], sent: Sent, bad: str, back: list[Sent]
    ) -> None:
        if all(f.action != sent.action for f in back):
            return
        self.refused.add(sent.action)
        expected, found = states(shown) | states([sent]), states(back)
        for key in unanswerable(sent, bad):
            expected.pop(key, None)
        for key, state in expected.items():
            if found.get(key, "" if state == "" else False) != state:
                where = f"{path}: {sent.action} refused for {bad}, {key}"
                self.lost[where] = f"{state!r} became {found.get(key)!r}"


SAVED: Mapping[str, str] = dict.fromkeys(NUMBERS, "12.25") | {
    "assets": '["USDC"]',
    "accepts_mandates": "1",
}


async def chosen(m: Mandated, browser: Browser) -> None:
    """Save something other than the default wherever a page keeps choices."""
    agent, settings = f"/app/agents/{m.agent.user_id}", "/app/notices/settings"
    saved = await browser.submit(agent, f"{agent}/policy", **SAVED)
    assert saved.status == 303, saved.said
    quiet = {"quiet": "on", "zone": "Asia/Tokyo", "begins": "20:15", "ends": "05:45"}
    kinds = dict.fromkeys(("push", "email", "webhook"), next(iter(KINDS)))
    saved = await browser.submit(settings, settings, **kinds, **quiet)
    assert saved.status == 303, saved.said


@pytest.fixture
async def told(sqlite_url: str, evm: Evm) -> AsyncIterator[Site]:
    """A service that tells by each way, and whose chain has purses."""
    async with a_world(sqlite_url, evm, purses=True) as world:
        push = WebPush(new_private_key(), None)
        hooks = WebhookSigning(b"k" * 32)
        world.deps = replace(world.deps, webhooks=hooks, push=push, email=True)
        async with a_site(world) as found:
            yield found


async def with_other_calls(world: World) -> Mandated:
    """A draft with a call that belongs to no market of the service."""
    other = {
        "kind": "contract",
        "address": "0x" + "ab" * 20,
        "selector": "0x12345678",
        "self_args": [1, 31],
        "probe": "0x70a08231",
    }
    return await drafted(world, allowed_targets=[*market_targets(world), other])


STATES: Mapping[str, Life] = LIVES | {"other calls": with_other_calls}


# A draft has the pages and forms of the one with other calls, and fewer calls in them.
@pytest.mark.parametrize(
    "state", [pytest.param("draft", marks=pytest.mark.play), "working", "other calls"]
)
async def test_a_refused_form_empties_no_form_of_its_page(told: Site, state: str) -> None:
    m, browser, _ = await told.of(STATES[state](told.world))
    await chosen(m, browser)
    walk = Walk(browser)
    for path in stations(await values_of(m), opened()):
        await walk.page(path)
    walk.check()


@pytest.mark.usefixtures("no_backoff")
async def test_a_refused_form_of_the_desk_empties_no_form_of_its_page(sqlite_url: str) -> None:
    async with a_trading_site(sqlite_url) as site:
        stranger, t = await site.desk.person(), await live_at_the_door(site)
        for who in (stranger, t.person):
            await site.desk.ok("own_paper_book_open", who.caller, name="A", start_usdc="1000")
            book = await site.desk.ok("own_paper_book_open", who.caller, name="B", start_usdc="99")
            order = list(NOWHERE["order"])
            if who is t.person:
                order = [(await t.prepare())["order"]["order_id"]]
            values = dict(NOWHERE) | {"book": [book["book"]], "order": order}
            walk = Walk(await site.signed_in(who))
            walk.clock = site.desk.clock
            for path in stations(values, (p for p in opened() if p.path.startswith(DESK))):
                await walk.page(path)
            walk.check()


async def test_a_refused_request_to_connect_empties_no_form_of_its_page(
    sqlite_url: str, evm: Evm, tmp_path: Path
) -> None:
    async with a_world(sqlite_url, evm) as world, signing(world, tmp_path), connecting(world) as c:
        walk = Walk(await c.browser())
        await chosen(c.mandate, walk.browser)
        await walk.page(await c.link(scope="wallet:act"))
        await walk.page(f"/app/agents/{c.mandate.agent.user_id}")
        walk.check()


async def test_another_language_and_an_ended_session_leave_what_is_saved_on_a_page(
    told: Site,
) -> None:
    m, browser, _ = await told.of(LIVES["working"](told.world))
    await chosen(m, browser)
    unsent: set[str] = set()
    for path in stations(await values_of(m), opened()):
        browser.cookies.pop("language", None)
        shown = forms_of(await browser.get(path), path)
        own = {"csrf": (await browser.get("/app")).token(), "language": "de"}
        switched = await browser.post("/app/language", own, Referer=browser.base + path)
        assert (switched.status, switched.headers["Location"]) == (303, path)
        assert states(forms_of(await browser.get(path), path)) == states(shown), path
        stranger = Browser(browser.base, told.http)
        for form in (f for f in map(typed_over, shown) if f.action != "/app/session"):
            answer = await stranger.post(form.action, form.body(None), Referer=browser.base + path)
            if answer.status == 401:
                unsent.add(form.action)
                assert answer.one("input", name="next").attributes["value"] == path
            else:
                assert answer.status != 303, form.action
        assert states(forms_of(await browser.get(path), path)) == states(shown), path
    assert len(unsent) > 5


async def test_an_older_page_of_a_policy_takes_no_newer_limit_back(told: Site) -> None:
    m, browser, _ = await told.of(LIVES["working"](told.world))
    await chosen(m, browser)
    at = f"/app/agents/{m.agent.user_id}"

    async def tab() -> MultiDict[str]:
        shown = forms_of(await browser.get(at), at)
        return next(f for f in shown if f.action == f"{at}/policy").body(None)

    older, newer = await tab(), await tab()
    newer["per_tx_cap_usdc"] = "5"
    assert (await browser.post(f"{at}/policy", newer)).status == 303
    older["slippage_bps"] = "much"
    refused = await browser.post(f"{at}/policy", older)
    assert refused.status == 400
    (again,) = (f for f in forms_of(refused, at) if f.action == f"{at}/policy")
    sent = again.body(None)
    sent["slippage_bps"] = "0.5"
    assert (await browser.post(f"{at}/policy", sent)).status == 303
    policy = await told.world.ok("agent_policy", m.owner, agent_id=m.agent.user_id)
    assert (policy["per_tx_cap_usdc"], policy["slippage_bps"]) == ("5.000000", 50)
    assert (policy["total_cap_usdc"], policy["accepts_mandates"]) == ("12.250000", True)
    # What was changed on purpose is as it was typed last.
    last = await tab()
    last["per_tx_cap_usdc"] = ""
    assert (await browser.post(f"{at}/policy", last)).status == 303
    policy = await told.world.ok("agent_policy", m.owner, agent_id=m.agent.user_id)
    assert policy["per_tx_cap_usdc"] is None


async def test_an_older_page_of_choices_or_of_a_draft_takes_nothing_newer_back(told: Site) -> None:
    m, browser, _ = await told.of(LIVES["draft"](told.world))
    await chosen(m, browser)
    settings, draft = "/app/notices/settings", f"/app/start/{m.id}"

    async def tab(at: str) -> MultiDict[str]:
        return next(f for f in forms_of(await browser.get(at), at) if f.action == at).body(None)

    async def saved(at: str, form: MultiDict[str], **button: str) -> None:
        assert (await browser.post(at, MultiDict(form, **button))).status == 303

    older, newer = await tab(settings), await tab(settings)
    newer.add("email", "mandate.settled")
    newer["begins"] = "23:30"
    await saved(settings, newer)
    wrong = older.copy()
    wrong["zone"] = "Mars/Base"
    refused = forms_of(await browser.post(settings, wrong), settings)
    (again,) = (f for f in refused if f.action == settings)
    assert again.body(None)["shown"] == older["shown"] != (await tab(settings))["shown"]
    older.add("push", "transfer.in")
    older.popall("webhook")
    await saved(settings, older)
    read = await told.world.ok("owner_notice_settings", m.owner)
    first = next(iter(KINDS))
    assert (read["push"], read["email"], read["webhook"]) == (
        [first, "transfer.in"], [first, "mandate.settled"], [],
    )  # fmt: skip
    assert read["quiet"]["begins"] == "23:30"

    before = (await m.read())["mandate"]
    older, newer = await tab(draft), await tab(draft)
    newer.update({"share": "7", "ask": "never", "agent": "board"})
    newer.popall("market", None)
    await saved(draft, newer, then="stay")
    older["horizon_days"] = "11"
    await saved(draft, older, then="stay")
    after = (await m.read())["mandate"]
    assert (after["payout_rule"]["bps"], after["approval_above_usdc"]) == (700, None)
    assert (after["horizon_days"], after["open_board"]) == (11, True)
    assert len(after["allowed_targets"]) < len(before["allowed_targets"])
    # What is changed on two pages is as it was changed last.
    older["share"] = "9"
    await saved(draft, older, then="stay")
    assert (await m.read())["mandate"]["payout_rule"]["bps"] == 900
