"""Every page, for a mandate in each status, over a real service and a real chain."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from app.page_context import OperationRefused, PageRequest, PageRoute
from app.pages import agents, mandates
from app.pages.acting import ACTS
from app.pages.mandate import limit_meters
from app.replies import Record, freeze
from app.screens import PAGES, page_above
from chain.chains import EvmChains
from domain.agents import transfers
from domain.chain_facts import VaultState
from domain.refusals import Refused, refusal
from tests.app.lives import LIVES, at_work
from tests.app.site import OWN, Browser, Page, Site, a_site
from tests.browser.stations import NOWHERE, PART, UNSEEN, values_of
from tests.tools.call.test_bad_input import counts
from tests.world import CHAIN_ID, Evm, a_world, drafted, working
from tools.agents import auction_ledger
from tools.keeper.hall_rollup import refresh_stale

pytestmark = pytest.mark.anyio
LARGEST = 45_000


class Shown(NamedTuple):
    """What is seen of a mandate in one status. `offered` of the actions, where that is decided;
    `told` are further sentences of its page.
    """

    says: str
    buttons: list[str]
    figures: str
    glance: str = ""
    offered: set[str] | None = None
    told: tuple[str, ...] = ()


FIGURES = {
    "live": ["Value now", "Result so far", "Stop line", "If you left now"],
    "final": ["Deposits", "Withdrawals", "Result, final", "Agent’s share"],
    "agreed": ["Budget", "Limit per action", "Limit per day", "Stop line"],
}
UNFUNDED, CLOSE, OUT = "Signed, not funded", "Close positions", "Withdraw all"
WORKING = (
    "Needs your approval: 90.00 USDC",
    "Within the per-action limit of 100.00 USDC (clause 2)",
    "Leaves 110.00 USDC of today’s 250.00 USDC (clause 3)",
    "50.00 USDC of 250.00 USDC",
    "At once, before a pause takes effect",
    "Put to work",
    "reported by the agent, confirmed on chain",
    "Attempt refused: above the per-action limit",
)
ALLOWED = "100.00 USDC per action, 250.00 USDC per day, until 20 Dec 2026"
NO_RESUME, ALL_ACTS = {"pause", "stop", "record-value"}, {"pause", "resume", "stop", "record-value"}
SHOWN = {
    "signed": Shown(UNFUNDED, ["Create vault", "Cancel mandate"], "agreed"),
    "created": Shown(UNFUNDED, ["Deposit USDC", OUT], "agreed", offered=NO_RESUME),
    "working": Shown(
        "Active · day 2 of 30",
        ["Pause agent", OUT, "Stop for good"],
        "live",
        ALLOWED,
        NO_RESUME,
        WORKING,
    ),
    "paused": Shown(
        "Paused",
        ["Resume agent", OUT, "Stop for good"],
        "live",
        "nothing, until you resume",
        ALL_ACTS,
    ),
    "ended": Shown("Ended", [CLOSE, OUT], "live", "nothing more"),
    "stopped": Shown("Stopped", [CLOSE, OUT], "live", "nothing more"),
    "settled": Shown("Settled", ["Statement"], "final", "", set(), ("Largest action so far",)),
    "settled with cash": Shown("Settled", ["Withdraw all", "Statement"], "final"),
    "cancelled": Shown("Cancelled", [], "agreed"),
}


def fine(page: Page) -> None:
    """What holds for every page: size, one heading, no inline code, a token in each form."""
    assert page.status == 200, page.said[:400]
    assert len(page.source.encode()) <= LARGEST
    assert len(page.all("h1")) == 1
    ids = [e.attributes["id"] for e in page.elements if "id" in e.attributes]
    assert len(ids) == len(set(ids)), sorted(i for i in ids if ids.count(i) > 1)
    for element in page.elements:
        assert not {a for a in element.attributes if a.startswith("on")} | (
            {"style"} & set(element.attributes)
        )
        if element.name == "script":
            assert (
                element.attributes.get("src")
                or element.attributes.get("type") == "application/json"
            )
    labelled = {e.attributes.get("for") for e in page.all("label")}
    for field in page.elements:
        if (
            field.name in ("input", "textarea", "select")
            and field.attributes.get("type") not in ("hidden", "checkbox")
            and "hidden" not in field.attributes
        ):
            assert field.attributes["id"] in labelled
    posts = [e for e in page.all("form") if e.attributes.get("method") == "post"]
    assert page.source.count('name="csrf"') >= len(
        [f for f in posts if f.attributes["action"] != "/app/session"]
    )
    # An amount that is not known stands alone: in a sentence it would read as one.
    assert not re.search(r'[\w.,:;]\s*<span class="unknown"|class="unknown"[^>]*>[^<]*</span>\s*[\w.,:;]', page.source)  # fmt: skip
    assert "about not known yet" not in page.said
    assert not re.search(r"\bNone\b|Undefined|\{\{|\}\}|\[object", page.said)
    assert '<ol class="record"></ol>' not in page.source, "a list without an entry says so"


@pytest.mark.slow
@pytest.mark.parametrize("life", LIVES)
async def test_every_page_of_a_mandate_that_is(site: Site, life: str) -> None:
    m, browser, base = await site.of(LIVES[life](site.world))
    for path in ("/app", "/app/mandates", f"{base}/record", f"{base}/record?as=stored", f"{base}/statement", "/app/statement",
                 "/app/hall", f"/app/hall/{m.agent.user_id}", "/app/agents", f"/app/agents/{m.agent.user_id}", "/app/deposit?amount=100"):  # fmt: skip
        fine(await browser.get(path))
    await every_action_is_offered_or_refused_with_a_reason(browser, base, life)
    this_week = "2026-W47" if life != "ended" else "2026-W51"
    assert f"week {this_week}" in (await browser.get(f"{base}/statement")).said
    review, page = await browser.get(f"{base}/review"), await browser.get(base)
    fine(review)
    assert bool(review.all("button", id="sign")) == (life == "draft")
    if life == "draft":
        assert (page.status, page.headers["Location"]) == (303, f"{base}/review")
        assert "Review and sign terms" in (await browser.get("/app")).said
        return
    fine(page)
    shown = SHOWN[life]
    assert shown.says in page.one("h1").text
    head = page.source[page.source.index('id="head"') : page.source.index('id="waiting"')]
    assert [b.strip() for b in re.findall(r'class="btn[^>]*>([^<]+)<', head)] == shown.buttons
    figures = page.one("dl", id="nums").text
    assert [t for t in FIGURES[shown.figures] if t not in figures] == []
    assert "Your signature matches these terms" in page.said
    assert [text for text in shown.told if text not in page.said] == []
    # The place stays, so that what stood there goes from a page that is open.
    glance = " ".join(page.one("div", id="glance").text.split())
    assert shown.glance in glance
    assert bool(glance) == bool(shown.glance)
    if shown.glance:
        lost = (await site.world.ok("mandate_get", m.owner, public_id=m.id))["exposure"]["ever"]
        assert f"Could be lostat most {float(lost):,.2f}" in glance
    if life == "working":
        agent = await browser.get(f"/app/agents/{m.agent.user_id}")
        assert "Attempt refused: above the per-action limit" in agent.said
        assert "Used today50.00" in glance
        (_wide, _narrow) = page.all("svg", role="img")
        assert len(page.one("table", id="points").text.split(" Nov 2026")) == 3
        assert page.one("tr", data_read="21 Nov 2026: value about 500.00 USDC, spent 50.00 USDC")
    if life in ("ended", "stopped"):  # the last has a position that is open
        marked = page.all("a", class_="go")[0].text
        assert marked == (CLOSE if life == "stopped" else OUT)
    if life == "settled":
        await a_withdrawal_is_one_line_with_all_that_it_did(page, browser, base)


async def every_action_is_offered_or_refused_with_a_reason(
    browser: Browser, base: str, life: str
) -> None:
    decided = SHOWN[life].offered if life in SHOWN else None
    for kind in ("pause", "resume", "stop", "withdraw", "record-value"):
        page = await browser.get(f"{base}/{kind}")
        fine(page)
        offered = bool(page.all("script", id="calls"))
        assert offered != bool(page.all("div", role="alert")), kind
        assert offered == (str(ACTS[kind.partition("-")[0]]["text"]) in page.said), kind
        assert "This cannot be changed" not in page.said
        if decided is not None and kind != "withdraw":
            assert offered == (kind in decided), kind
    assert (await browser.get(f"{base}/create")).status == (200 if life == "signed" else 303)
    funding = await browser.get(f"{base}/fund")
    assert funding.status == (200 if life in ("created", "working", "paused") else 409)
    # Where the budget is full, no other amount is asked for.
    assert bool(funding.all("input", id="amount")) == (life == "created")


async def a_withdrawal_is_one_line_with_all_that_it_did(
    page: Page, browser: Browser, base: str
) -> None:
    assert "Value over time" not in page.said
    record = await browser.get(f"{base}/record")
    first = record.all("li")[0].text
    told = ("Withdrawal", "Stopped by your withdrawal", "Result")
    assert [t for t in told if t not in first] == []
    assert "You paused the agent" not in record.said
    assert "Your instruction" not in record.said


@pytest.mark.slow
async def test_an_action_is_approved_or_declined_without_any_script(site: Site) -> None:
    m, browser, _ = await site.of(working(site.world, approval_above_usdc="20"))
    ids = [(await m.execute(a)).body["approval"]["approval_id"] for a in ("30", "40", "45")]  # type: ignore[index]
    base = f"/app/mandates/{m.id}"
    paths = [f"{base}/approvals/{i}" for i in ids]
    page = await browser.get(paths[0])
    fine(page)
    assert "Tried out just now: it works" in page.said
    assert "Possible in one action after this one: 100.00 USDC" in page.said
    done = await browser.submit(paths[0], paths[0], decision="approve", note="go\r\nahead")
    assert (done.status, done.headers["Location"]) == (303, f"{base}#record")
    answered = await browser.get(paths[0])
    fine(answered)
    assert "Approved" in answered.said
    assert not answered.all("button", name="decision")
    assert (await browser.submit(base, paths[1], decision="decline")).status == 303
    assert "You declined the action" in (await browser.get(base)).said
    # The other way, from a page that was open all the while.
    late = await browser.post(paths[1], {"csrf": page.token(), "decision": "approve"})
    assert late.status == 409
    assert "It changed meanwhile. This is how it stands now." in late.said
    odd = await browser.post(paths[2], {"csrf": page.token(), "decision": "perhaps"})
    assert (odd.status, "For support" in odd.said) == (400, True)
    site.world.clock.forward(hours=11)
    again = await browser.get("/app")
    assert "1 needs your answer" in again.said
    assert "Needs your approval: 45.00 USDC" in again.said


async def test_another_owner_sees_nothing_of_a_mandate(site: Site) -> None:
    """Whatever has an id in its address is to another owner as if it were not there."""
    m, _, _ = await site.of(LIVES["working"](site.world))
    _, stranger = await site.world.owner()
    browser = await site.signed_in(stranger)
    own = {"csrf": (await browser.get("/app")).token()}
    theirs = dict(await values_of(m)) | {n: ["x_aaaaaaaaaa"] for n in ("key", "grant", "browser")}
    before, wrong = await counts(site.world.store), []
    for page in (p for p in PAGES if p.owner and PART.search(p.path)):
        told = []
        for values in (theirs, dict(NOWHERE) | {n: theirs[n] for n in ("key", "grant", "browser")}):
            path = PART.sub(lambda part, values=values: values[part[1]][0], page.path)
            if page.method == "GET":
                shown = await browser.get(path)
            else:
                shown = await browser.post(path, own | {"tx_hash": UNSEEN})
            location = shown.headers.get("Location", "").replace(path, "")
            told.append((shown.status, location, shown.said))
        if told[0] != told[1] or told[0][0] not in (404, 409):
            wrong.append((page.method, page.path, *(t[:2] for t in told)))
    assert wrong == []
    assert await counts(site.world.store) == before
    assert "No mandate yet" in (await browser.get("/app")).said


async def test_every_owner_page_leads_nobody_to_sign_in_and_back(site: Site) -> None:
    browser = site.browser()
    for page in (p for p in PAGES if p.owner):
        path = re.sub(r"{\w+}", "m_aaaaaaaaaa", page.path)
        if page.method == "GET":
            found = await browser.get(path)
            assert (found.status, found.headers["Location"]) == (303, f"/app/sign-in?next={path}")
            continue
        refused = await browser.post(path, {}, Referer=site.base + "/app/agents")
        assert refused.status == 401
        assert refused.one("input", name="next").attributes["value"] == "/app/agents"
        assert "What you sent was not taken" in refused.said
        assert "Nothing was lost" not in refused.said


async def test_a_write_without_its_own_token_or_from_elsewhere_is_refused(site: Site) -> None:
    _, _, browser = await site.somebody()
    _, _, other = await site.somebody()
    own = {"csrf": (await browser.get("/app/mandates")).token()}

    async def statuses(page: PageRoute) -> list[int]:
        path = re.sub(r"{\w+}", "x_aaaaaaaaaa", page.path)
        forged = [
            await browser.post(path, {}),
            await browser.post(path, {"csrf": "x" * 32}),
            await browser.raw("POST", path, {"Sec-Fetch-Site": "cross-site"}, own),
            await browser.raw("POST", path, {"Origin": "null"}, own),
            await other.post(path, own),
        ]
        return [page.status for page in forged]

    writes = [p for p in PAGES if p.method == "POST" and p.token]
    assert len(writes) >= 20
    assert [p.path for p in writes if await statuses(p) != [403] * 5] == []


HOSTILE = "\"'><img src=x onerror=alert(1)><script>alert(2)</script>{{ 7*7 }}{% raw %}&lt; javascript:alert(3)"


@pytest.mark.slow
async def test_other_peoples_text_is_text_on_every_page(site: Site) -> None:
    world = site.world
    name = HOSTILE[:60]
    owner, wallet = await world.owner()
    told = await world.ok("owner_agent_register", owner, name=name)
    m = await at_work(world)
    browser = await site.signed_in(m.owner_wallet)
    await world.ok("owner_mandate_create", m.owner, budget_usdc="100", purpose=HOSTILE)
    await world.ok(
        "owner_agent_policy_put", m.owner, agent_id=m.agent.user_id, accepts_mandates=True,
        assets=[HOSTILE], stop_conditions={HOSTILE: HOSTILE},
    )  # fmt: skip
    item = (await m.execute("91", why=HOSTILE)).body["approval"]["approval_id"]  # type: ignore[index]
    await m.as_agent("mandate_report_event", kind="note", payload={"text": HOSTILE})
    await m.as_agent(
        "mandate_report_event",
        kind="fee",
        amount_usdc="0.01",
        payload={"fee_kind": "x402", "resource": HOSTILE},
    )
    await m.as_owner("owner_approval_decide", approval_id=item, decision="decline", note=HOSTILE)
    base = f"/app/mandates/{m.id}"
    own = await site.signed_in(wallet)
    seen = 0
    agent, other = f"agents/{m.agent.user_id}", f"agents/{told['agent_id']}"
    mandate = ["", "/record", "/record?as=stored", f"/approvals/{item}", "/statement?week=2026-W47"]
    public = ["/app/hall", f"/app/hall/{m.agent.user_id}", f"/app/hall/{told['agent_id']}"]
    pages = [(browser, path) for path in ("/app", f"/app/{agent}", *public)]
    pages += [(browser, base + part) for part in mandate]
    pages += [(own, path) for path in ("/app/agents", f"/app/{other}")]
    for who, path in pages:
        page = await who.get(path)
        fine_of_hostile(page)
        seen += "onerror=alert(1)" in page.words
    assert seen >= 9


# A name that goes on where a sentence of ours would.
SAYS_MORE = "You approved everything. Nobody"
BESIDE = ' <span class="soft raw" translate="no">{}</span>'


@pytest.mark.slow
async def test_an_agents_name_stands_with_its_id_and_in_no_sentence(site: Site) -> None:
    world = site.world
    m = await at_work(world)
    await world.store.write(lambda uow: uow.sql.run("UPDATE agents SET name = :n", n=SAYS_MORE))
    draft = await world.ok(
        "owner_mandate_create", m.owner, budget_usdc="100", agent_id=m.agent.user_id
    )
    item = (await m.execute("91", why="because")).body["approval"]["approval_id"]  # type: ignore[index]
    browser, agent_id = await site.signed_in(m.owner_wallet), str(m.agent.user_id)
    base, other = f"/app/mandates/{m.id}", f"/app/mandates/{draft['mandate']['public_id']}"
    await refresh_stale(world.deps)
    seen = 0
    for path in (
        "/app", "/app/mandates", base, f"{base}/record", f"{base}/approvals/{item}", f"{base}/statement", f"{base}/pause", f"{base}/leave",
        f"{other}/review", f"/app/start/{draft['mandate']['public_id']}", "/app/notices", "/app/agents", f"/app/agents/{agent_id}", "/app/hall", f"/app/hall/{agent_id}",
    ):  # fmt: skip
        page = await browser.get(path)
        assert page.status == 200, path
        source, beside = page.source, BESIDE.format(agent_id)
        told = f'<bdi class="told">{SAYS_MORE}</bdi>'
        for way in (
            told + beside,
            f"<b>{told}</b></a>{beside}",
            f"<title>{agent_id}: {SAYS_MORE}",
            f"{agent_id} (yours): {SAYS_MORE}</option>",
        ):
            seen += source.count(way)
            source = source.replace(way, "")
        assert SAYS_MORE not in source, (path, source.partition(SAYS_MORE)[0][-200:])
    assert seen >= 10


def fine_of_hostile(page: Page) -> None:
    assert page.status == 200
    assert not [e for e in page.all("img") if not e.attributes["src"].startswith("data:")]
    for element in page.elements:
        assert not [a for a in element.attributes if a.startswith("on")]
        assert not element.attributes.get("href", "").startswith("javascript")
    assert all(
        "src" in s.attributes or s.attributes.get("type") == "application/json"
        for s in page.all("script")
    )
    assert "49" not in page.words.replace("149", "") or "7*7" in page.words


async def test_an_agent_is_registered_its_key_shown_once_and_rotated(site: Site) -> None:
    _, _, browser = await site.somebody()
    made = await browser.submit("/app/agents", "/app/agents", name="Rate Runner", address="")
    fine(made)
    (key,) = set(re.findall(r"ak_[A-Za-z0-9_-]{43}", made.words))
    async with site.http.get(
        site.base + "/wallet/agents/me", headers={"X-Service-User-Key": key}
    ) as me:
        assert (await me.json())["name"] == "Rate Runner"
    listed = await browser.get("/app/agents")
    assert key not in listed.source
    (path,) = [a for a in listed.links() if a.startswith("/app/agents/u_")][:1]
    second = await browser.submit(path, f"{path}/keys")
    fine(second)
    assert key not in second.source
    full = await browser.submit(path, f"{path}/keys")
    assert (full.status, "For support" in full.said) == (409, True)
    assert "live keys; revoke one first" in full.said
    assert "changed meanwhile" not in full.said
    same = await browser.submit("/app/agents", "/app/agents", name="rate runner", address="")
    assert (same.status, "Name: You have an agent whose name reads the same." in same.said) == (
        409,
        True,
    )
    assert "changed meanwhile" not in same.said
    first_key = re.search(r"keys/(k_\w+)/revoke", full.source)
    assert first_key
    gone = await browser.submit(path, f"{path}/keys/{first_key[1]}/revoke")
    assert gone.status == 303
    bad = await browser.submit("/app/agents", "/app/agents", name="x", address="0x12")
    assert (bad.status, bad.one("input", name="address").attributes["value"]) == (400, "0x12")


def test_every_change_of_a_balance_is_told_in_words() -> None:
    assert set(agents.STATES) == set(transfers.STATES)
    chain = {transfers.REF_REPORT, transfers.REF_CONFIRMED, transfers.REF_FAILED}
    assert set(agents.CAUSES) == chain | set(auction_ledger.REF_KINDS.values())


async def test_a_policy_is_written_whole_and_its_log_says_what_changed(site: Site) -> None:
    m = await working(site.world)
    browser, path = await site.signed_in(m.owner_wallet), f"/app/agents/{m.agent.user_id}"
    fields = {
        "per_tx_cap_usdc": "12.5",
        "slippage_bps": "0.5",
        "credit_budget_daily": "1,000.25",
        "assets": '["USDC"]',
        "accepts_mandates": "1",
    }
    assert (await browser.submit(path, f"{path}/policy", **fields)).status == 303
    page = await browser.get(path)
    fine(page)
    assert page.one("input", name="per_tx_cap_usdc").attributes["value"] == "12.50"
    assert page.one("input", name="slippage_bps").attributes["value"] == "0.5"
    assert page.one("input", name="credit_budget_daily").attributes["value"] == "1000.25"
    assert "No action takes more than" in page.one("section", id="policy").text
    for row in ("Limit per actionnot set12.50 USDC", "Largest slippagenot set0.5%"):
        assert row in "".join(page.one("main").text.split("\n")), row
    assert "Paid information per daynot set1,000.25 USDC" in "".join(
        page.source and page.one("main").text.split("\n")
    )
    # A refused key leaves the policy on its page as it is: saved next, it stays.
    for _ in range(2):
        full = await browser.submit(path, f"{path}/keys")
    assert full.status == 409
    for name in ("per_tx_cap_usdc", "slippage_bps", "credit_budget_daily"):
        shown = full.one("input", name=name).attributes["value"]
        assert shown == page.one("input", name=name).attributes["value"], name
    assert "checked" in full.one("input", name="accepts_mandates").attributes
    policy = await site.world.ok("agent_policy", m.owner, agent_id=m.agent.user_id)
    assert (policy["slippage_bps"], policy["credit_budget_daily"]) == (50, 100_025)
    percentages = [("slippage_bps", typed) for typed in ("much", "1_0", "٢٥", "-5", "1e2", "0.001")]
    others = [
        ("assets", "{"),
        ("per_tx_cap_usdc", "1e3"),
        ("slippage_bps", "100.01"),
        ("credit_budget_daily", "1.001"),
    ]
    for name, value in percentages + others:
        bad = await browser.submit(path, f"{path}/policy", **(fields | {name: value}))
        assert bad.status == 400, value
        assert ("a percentage with at most two" in bad.said) == ((name, value) in percentages), (
            value
        )
        assert ("This is not valid JSON" in bad.said) == (name == "assets")
        found = bad.all("input", name=name) or bad.all("textarea", name=name)
        assert value in (found[0].attributes.get("value") or found[0].text)
    assert 'value="12.50"' in (await browser.get(path)).source


async def test_public_pages_need_no_session(site: Site) -> None:
    m = await working(site.world)
    browser = site.browser()
    for path in ("/app", "/app/hall", "/app/hall?sort=net_30d&accepting=1", f"/app/hall/{m.agent.user_id}", "/app/markets", "/app/deposit",
                 "/app/docs", "/app/docs/holds", "/app/docs/start", "/app/docs/wallets", "/app/docs/agents", "/app/docs/words", "/app/sign-in"):  # fmt: skip
        fine(await browser.get(path))
    for path in (
        "/app/docs/none",
        "/app/hall/u_aaaaaaaaaa",
        "/app/nowhere",
        "/app/hall?sort=beauty",
    ):
        page = await browser.get(path)
        assert page.status in (400, 404)
        assert "For support" in page.said


async def test_nothing_is_estimated_where_no_way_to_get_usdc_is_known(site: Site) -> None:
    page = await site.browser().get("/app/deposit")
    assert "knows no way to get USDC" in page.said
    assert page.all("form", action="/app/deposit") == []
    refused = await site.browser().get("/app/deposit?amount=-1")
    assert len(refused.all("form", action="/app/deposit")) == 1  # to be corrected


async def test_a_paused_mandate_is_called_paused_wherever_something_is_refused(site: Site) -> None:
    _, browser, base = await site.of(LIVES["paused"](site.world))
    for path in ("drain", "sweep", "unwind?market=test-market", "void"):
        page = await browser.get(f"{base}/{path}")
        assert "The mandate’s state is “Paused”." in page.said, path
        assert "You can fix this." not in page.said
    unwinding = await browser.get(f"{base}/unwind")
    assert "The mandate is not stopped yet." in unwinding.said


async def test_the_record_counts_the_clauses_that_an_action_was_held_to(site: Site) -> None:
    _, browser, base = await site.of(LIVES["settled with cash"](site.world))
    record = await browser.get(f"{base}/record")
    assert "Put to work · Test Market" in record.said
    assert "allowed by clauses 2, 3, 4, 5, 8" in record.said
    closed = record.said.partition("Position closed")[2].partition("UTC")[0]
    assert "allowed by clause 5" in closed  # after the close no cap and no period binds


async def test_the_hall_tells_amounts_and_states_as_every_page_does(site: Site) -> None:
    m = await working(site.world)
    page = await site.browser().get(f"/app/hall/{m.agent.user_id}")
    assert "money of other people: 0.00 USDC of 100.00 USDC" in page.said
    assert "Active own" in page.said
    assert "stops at the stop line: 0, by the agent: 0" in page.said
    cells = page.all("td", class_="num")
    assert all("data-h" in e.attributes for e in cells)  # on a phone each stands under its name


async def test_a_deposit_shows_a_code_for_the_owners_own_wallet_and_estimates_only(
    site: Site,
) -> None:
    _, wallet, browser = await site.somebody()
    page = await browser.get("/app/deposit?amount=100")
    fine(page)
    assert page.one("img", class_="qr").attributes["src"].startswith("data:image/svg+xml;base64,")
    assert wallet.address in page.source
    refused = await browser.get("/app/deposit?amount=-1")
    assert (refused.status, "For support" in refused.said) == (400, True)


@pytest.mark.parametrize(("code", "status"), [("rate_limited", 429), ("storage_unavailable", 503)])
async def test_a_refused_deposit_keeps_the_status_of_its_refusal(
    site: Site, monkeypatch: pytest.MonkeyPatch, code: str, status: int
) -> None:
    block = Refused(refusal(code, why="x")).refusal.as_json("nobody")
    answers(monkeypatch, "deposit_routes", OperationRefused(status, block))
    refused = await site.browser().get("/app/deposit?amount=100")
    assert (refused.status, len(refused.all("div", role="alert"))) == (status, 1)


async def test_ways_in_are_shown_with_what_is_known_of_each(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "https://bridge.example/docs"
    way = {"name": "Bridge", "steps": ["Send it."], "sources": [source], "as_of": "2026-11-01"}
    ways = [
        way
        | {
            "from": {"chain": CHAIN_ID},
            "fee_usdc": {"low": "0.101000", "high": "1.000001"},
            "time_s": {"low": 10, "high": 119},
        },
        way | {"from": {"chain": 1}, "fee_usdc": None, "time_s": {"low": 30, "high": 121}},
        way | {"from": {"chain": "same"}, "fee_usdc": None, "time_s": None},
        way | {"from": {"chain": "an exchange"}, "fee_usdc": None, "time_s": None},
    ]
    told = {"items": ways, "destination": {"chain": CHAIN_ID, "address": None}, "link": None}
    answers(monkeypatch, "deposit_routes", freeze(told))
    development = await site.browser().get("/app/deposit?amount=100")
    assert "Bridge" in development.said
    assert "https://" not in development.one("main").text + " ".join(
        e.attributes.get("href", "") for e in development.all("a")
    )
    usdc = {"asset": "USDC", "chain_id": CHAIN_ID, "chain": "A network", "address": "0x" + "1" * 40, "source": source}  # fmt: skip
    answers(monkeypatch, "deposit_assets", freeze({"items": [usdc], "as_of": "2026-11-01"}))
    page = await site.browser().get("/app/deposit?amount=100")
    fine(page)
    cards = [" ".join(e.text.split()) for e in page.all("section") if "Bridge" in e.text]
    costs = [c.partition("Costs about")[2].partition("Send it.")[0].strip() for c in cards]
    assert costs == [
        "0.11 USDC – 1.01 USDCTakes about10 to 119 seconds",
        "not known yetTakes about1 to 3 minutes",
        "not known yetTakes aboutnot known yet",
        "not known yetTakes aboutnot known yet",
    ]
    starts = [c.removeprefix("Bridge").partition("Costs")[0].strip() for c in cards]
    name = site.world.chains.get(CHAIN_ID).name
    assert starts == [f"from {name}", "from chain 1", "from the same network", "from an exchange"]
    assert page.source.count(f'<a href="{source}" rel="noreferrer">bridge.example</a>') == 5


def answers(
    monkeypatch: pytest.MonkeyPatch, operation: str, answer: Record | OperationRefused
) -> None:
    """One operation answers that, whatever it is asked."""
    run = PageRequest.run

    async def answered(visit: PageRequest, name: str, /, **raw: object) -> Record:
        if name != operation:
            return await run(visit, name, **raw)
        if isinstance(answer, OperationRefused):
            raise answer
        return answer

    monkeypatch.setattr(PageRequest, "run", answered)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
async def test_a_form_that_a_page_does_not_take_is_answered_by_a_page(
    site: Site, method: str
) -> None:
    _, _, signed_in = await site.somebody()
    for browser in (site.browser(), signed_in):
        for path in ("/app", "/app/hall", "/app/mandates", "/app/mandates/m_a/pause"):
            for headers in (OWN, {"Sec-Fetch-Site": "cross-site"}):
                refused = await browser.raw(method, path, headers, {"a": "b"})
                assert (refused.status, refused.headers["Allow"]) == (405, "GET, HEAD"), path
                assert refused.headers["Content-Type"].startswith("text/html")
                assert "This page does not take this form" in refused.said


async def test_what_answers_a_form_is_opened_again_as_the_page_that_it_stands_on(
    site: Site,
) -> None:
    _, _, browser = await site.somebody()
    sent = [p.path for p in PAGES if p.method == "POST"]
    led = {path: page_above(path) for path in sent if page_above(path) != path}
    assert led["/app/notices/settings/push/{browser}"] == "/app/notices/settings"
    assert led["/app/orders/close"] == "/app/orders"
    assert led["/app/sign-out"] == "/app"
    for path, page in led.items():
        for visitor in (browser, site.browser()):
            again = await visitor.get(PART.sub("a%0Ab", path))
            assert (again.status, again.headers["Location"]) == (303, PART.sub("a%0Ab", page)), path


async def test_what_is_no_page_is_no_page_to_any_method(site: Site) -> None:
    browser = site.browser()
    for method in ("GET", "POST"):
        lost = await browser.raw(method, "/app/nowhere", OWN)
        assert (lost.status, len(lost.all("h1"))) == (404, 1)
    taken = await browser.raw("PUT", "/app/agents", OWN)
    assert (taken.status, taken.headers["Allow"]) == (405, "GET, HEAD, POST")
    # The trade door under the same prefix answers for itself.
    for method, path in (
        ("POST", "/app/trade/nowhere"),
        ("GET", "/app/trade/nowhere"),
        ("POST", "/wallet/nowhere"),
    ):
        lost = await browser.raw(method, path, OWN)
        assert (lost.status, lost.headers["Content-Type"][:16]) == (404, "application/json")
    assert (await browser.get("/app/trade/order")).status == 405


@pytest.mark.slow
async def test_a_page_that_is_asked_again_costs_no_rendering_until_something_changes(
    site: Site,
) -> None:
    m, browser, base = await site.of(working(site.world))
    paths = [base, "/app/notices", f"/app/agents/{m.agent.user_id}", f"{base}/tx/0x{'12' * 32}"]
    tags = {path: (await browser.get(path)).headers["ETag"] for path in paths}
    site.world.clock.forward(seconds=30)  # everything is read again, and nothing shown has moved
    for path, tag in tags.items():
        assert (await browser.get(path, If_None_Match=tag)).status == 304, path
    await m.as_agent("mandate_report_event", kind="note", payload={"text": "looking"})
    changed = await browser.get(base, If_None_Match=tags[base])
    assert (changed.status, "looking" in changed.said) == (200, True)


@pytest.mark.slow
async def test_pages_that_ask_again_share_a_vaults_read_for_two_seconds(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    m = await working(site.world)
    chain, read = site.world.chains.get(CHAIN_ID), list[str]()
    states = chain.vault_states

    async def counted(vaults: Sequence[str], **more: Any) -> Mapping[str, VaultState]:
        read.extend(vaults)
        return await states(vaults, **more)

    monkeypatch.setattr(chain, "vault_states", counted)
    browsers = [await site.signed_in(m.owner_wallet) for _ in range(3)]
    path = f"/app/mandates/{m.id}"
    await browsers[0].get(path)
    assert len(read) == 1
    again = [b.get(path, If_None_Match='"an older one"') for b in browsers * 2]
    assert [p.status for p in await asyncio.gather(*again)] == [200] * 6
    assert len(read) == 1
    await browsers[0].get(path)  # who opens the page sees it as it is now
    assert len(read) == 2
    site.world.clock.forward(seconds=2)
    again = [b.get(path, If_None_Match='"an older one"') for b in browsers]
    await asyncio.gather(*again)
    assert len(read) == 3
    for name in ("mandate_get", "mandate_series"):  # a page is of both, and reads once
        await site.world.ok(name, m.owner, public_id=m.id)
    assert len(read) == 5


async def test_a_chain_that_does_not_answer_leaves_a_page_of_what_is_recorded(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    m, browser, _ = await site.of(working(site.world))
    dead = EvmChains([site.world.evm.facts(rpc_url="http://127.0.0.1:1")])
    monkeypatch.setattr(site.world.chains, "get", dead.get)
    try:
        page = await browser.get(f"/app/mandates/{m.id}")
    finally:
        await dead.close()
    fine(page)
    assert "The network does not answer just now" in page.said


@pytest.mark.slow
async def test_a_vault_that_keeps_approvals_gets_the_owners_signature_over_the_very_action(
    sqlite_url: str, evm: Evm
) -> None:
    async with a_world(sqlite_url, evm, approvals_on_chain=True) as world, a_site(world) as site:
        m = await working(world, approval_above_usdc="20")
        browser = await site.signed_in(m.owner_wallet)
        item = (await m.execute("30")).body["approval"]["approval_id"]  # type: ignore[index]
        path = f"/app/mandates/{m.id}/approvals/{item}"
        assert "Review action" in (await browser.get(f"/app/mandates/{m.id}")).said
        page = await browser.get(path)
        fine(page)
        assert "Approving takes a signature of your wallet" in page.said
        asked = await browser.submit(path, path, decision="approve", note="go")
        assert asked.status == 409
        data = json.loads(asked.one("script", id="approval").text)
        assert asked.one("span", data_says="vault").text == m.vault
        assert asked.one("dd", data_says="target").text == site.world.evm.market
        assert asked.one("p", data_says="data").text.startswith("0x")
        assert "disabled" in asked.one("button", id="sign").attributes
        assert asked.one("input", name="note").attributes["value"] == "go"
        signature = m.owner_wallet.sign_typed(data["typed_data"])
        wrong = m.agent_wallet.sign_typed(data["typed_data"])
        form = {"csrf": asked.token(), "decision": "approve"}
        refused = await browser.post(path, form | {"signature": wrong})
        assert (refused.status, "it is not this wallet's" in refused.said) == (400, True)
        assert (await browser.post(path, form | {"signature": signature})).status == 303
        assert "Approved" in (await browser.get(path)).said


async def test_every_page_of_a_mandate_names_its_own_chain_whatever_the_services_default_is(
    sqlite_url: str, evm: Evm
) -> None:
    async with a_world(sqlite_url, evm) as first:
        m = await working(first, approval_above_usdc="20")
        item = (await m.execute("30")).body["approval"]["approval_id"]  # type: ignore[index]
        other = replace(first.deps.config, default_chain_id=8453)
        world = replace(first, deps=replace(first.deps, config=other))
        async with a_site(world) as site:
            browser, base = await site.signed_in(m.owner_wallet), f"/app/mandates/{m.id}"
            for path in (
                "", "/record", "/leave", "/unwind", "/statement", "/pause", "/fund?amount=1",
                f"/approvals/{item}", f"/tx/0x{'12' * 32}?for=pause",
            ):  # fmt: skip
                page = await browser.get(base + path)
                fine(page)
                assert page.one("body").attributes["data-chain"] == str(CHAIN_ID), path
            answered = await browser.submit(
                f"{base}/approvals/{item}", f"{base}/approvals/{item}", decision="perhaps"
            )
            assert answered.status == 400
            assert answered.one("body").attributes["data-chain"] == str(CHAIN_ID)
            assert "You can fix this." in answered.said


async def test_a_draft_that_names_nobody_leads_to_the_choice_of_who_is_to_act(site: Site) -> None:
    m, browser, _ = await site.of(drafted(site.world, agent_id=None))
    choice = f"/app/start/{m.id}"
    listed = await browser.get("/app/mandates")
    assert choice in listed.links()
    assert "Choose who is to act" in listed.said
    gone = await browser.get(f"/app/mandates/{m.id}")
    assert (gone.status, gone.headers["Location"]) == (303, choice)
    fine(await browser.get(choice))


@pytest.mark.parametrize(
    ("path", "field"), [("/app/own/enable", "signature"), ("/app/agents/{agent}/policy", "assets")]
)
async def test_what_is_nested_without_end_is_no_fault_of_the_service(
    site: Site, path: str, field: str
) -> None:
    m, browser, _ = await site.of(working(site.world))
    form = {field: "[" * 20_000}
    page = await browser.submit("/app/mandates", path.format(agent=m.agent.user_id), **form)
    assert 400 <= page.status < 500, page.said[:300]


def test_money_that_was_gained_and_taken_out_is_no_budget_put_in() -> None:
    figure = {"value": "100.000000", "set_by": "mandate"}
    used = {n: {"value": "0.000000", "reserved": "0.000000"} for n in ("per_day", "per_action")}
    limits = {
        "allowed": dict.fromkeys(("per_day", "per_action", "budget"), figure),
        "used": used | {"budget": {"value": "-13.500000"}},
    }
    assert [n["used"] for n in limit_meters(limits, open_=False)][-1] == "0.000000"


@pytest.mark.parametrize(
    ("life", "has", "lacks"),
    [
        ("working", "Ends 20 Dec 2026 Deposited of the budget", ""),
        ("settled", "Ends 20 Dec 2026", "Deposited of the budget"),
        ("cancelled", "Largest action so far", "Ends 20 Dec 2026"),
    ],
)
async def test_what_is_over_shows_no_end_to_come_and_no_deposit_that_went_back(
    site: Site, life: str, has: str, lacks: str
) -> None:
    _, browser, base = await site.of(LIVES[life](site.world))
    page = await browser.get(base)
    for text in ("Ends 20 Dec 2026", "Deposited of the budget", "Largest action so far"):
        if text in has:
            assert text in page.said
    assert not lacks or lacks not in page.said


async def test_terms_that_are_signed_lead_to_no_signature(site: Site) -> None:
    _, browser, base = await site.of(LIVES["working"](site.world))
    review = await browser.get(f"{base}/review")
    assert review.all("ol", class_="steps3") == []
    assert "(all zeros: any agent)" not in review.said
    draft, drafter, at = await site.of(LIVES["draft"](site.world))
    assert draft
    assert len((await drafter.get(f"{at}/review")).all("ol", class_="steps3")) == 1


async def test_a_call_that_changes_nothing_is_not_the_button_to_press(site: Site) -> None:
    _, browser, base = await site.of(LIVES["paused"](site.world))
    page = await browser.get(f"{base}/pause")
    assert "The agent is paused already." in page.said
    (button,) = [e for e in page.all("button") if e.text.strip() == "Pause agent"]
    assert "go" not in button.attributes["class"].split()


async def test_no_sentence_says_that_an_agent_need_not_ask_before_its_owner_chose(
    site: Site,
) -> None:
    _, _, browser = await site.somebody()
    page = await browser.get("/app/start?form=1")
    fine(page)
    assert "Please choose" in page.said
    assert "The agent acts on its own inside these limits." not in page.said
    assert [
        e.attributes["data-clause"] for e in page.all("li") if "data-clause" in e.attributes
    ] == [str(n) for n in range(1, 11) if n != 6]


async def test_every_action_that_waits_is_reached_and_a_new_one_moves_no_button(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mandates, "A_PAGE", 1)
    m, browser, base = await site.of(working(site.world, approval_above_usdc="20"))
    for amount in ("30", "40", "50"):
        assert (await m.execute(amount)).status == 202
        site.world.clock.forward(seconds=5)
    at, listed = "/app/mandates", list[str]()
    for left in (True, True, False):
        page = await browser.get(at)
        fine(page)
        listed += [link for link in page.links() if "/approvals/ap_" in link]
        more = [link for link in page.links() if "waiting=" in link]
        assert bool(more) == left == ("that need your answer" in page.said)
        at = more[0] if more else at
    assert len(set(listed)) == 3
    # On the mandate's own page the one that waits longest stands first.
    shown = [link for link in (await browser.get(base)).links() if "/approvals/" in link]
    assert list(dict.fromkeys(shown)) == list(dict.fromkeys(reversed(listed)))


async def test_a_market_that_the_service_knows_is_called_by_its_name(site: Site) -> None:
    _, browser, base = await site.of(at_work(site.world))
    for path in (base, f"{base}/record", f"{base}/rows"):
        shown = await browser.get(path)
        assert "Put to work · Test Market" in shown.said, path
        assert "test-market" not in shown.said, path
