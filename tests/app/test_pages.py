"""Every page, for a mandate in each status, over a real service and a real chain."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from app.page_context import OperationRefused, PageRequest
from app.pages import mandates
from app.pages.mandate import limit_meters
from app.replies import Record
from chain.adapter import EvmChain
from chain.chains import EvmChains
from domain.chain_facts import VaultState
from domain.refusals import Refused, refusal
from tests.app.lives import LIVES, at_work
from tests.app.site import OWN, Browser, Page, Site, a_site
from tests.world import CHAIN_ID, Evm, Mandated, a_world, drafted, working
from tools.keeper.hall_rollup import refresh_stale

pytestmark = pytest.mark.anyio
LARGEST = 45_000
BUTTONS = {
    "signed": ["Create the vault", "Cancel"],
    "created": ["Put money in", "Withdraw all"],
    "working": ["Pause", "Withdraw all", "Stop for good"],
    "paused": ["Resume", "Withdraw all", "Stop for good"],
    "ended": ["Close positions", "Withdraw all"],
    "stopped": ["Close positions", "Withdraw all"],
    "settled": ["Statement"],
    "settled with cash": ["Withdraw", "Statement"],
    "cancelled": [],
}
FIGURES = {
    "working": ["Worth now", "Result so far", "Stop line", "If you left now"],
    "settled": ["You put in", "You took out", "Result, final", "Agent’s share"],
    "signed": ["Budget", "Per action", "Per day", "Stop line"],
}
SAYS = {
    "signed": "Signed, no money in it yet",
    "created": "Signed, no money in it yet",
    "working": "Working · day 2 of 30",
    "paused": "Paused",
    "ended": "Ended, not settled yet",
    "stopped": "Stopped",
    "settled": "Settled",
    "settled with cash": "Settled",
    "cancelled": "Cancelled",
}


GLANCE = {
    "working": "Allowed 100.00 an action, 250.00 a day, to 20 Dec 2026 Used today 50.00 USDC",
    "paused": "Allowed nothing, until you resume",
    "ended": "Allowed nothing more",
    "stopped": "Allowed nothing more",
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
        if field.name in ("input", "textarea", "select") and field.attributes.get("type") not in (
            "hidden",
            "checkbox",
        ):
            assert field.attributes["id"] in labelled
    posts = [e for e in page.all("form") if e.attributes.get("method") == "post"]
    assert page.source.count('name="csrf"') >= len(
        [f for f in posts if f.attributes["action"] != "/app/session"]
    )
    assert not re.search(r"\bNone\b|Undefined|\{\{|\}\}|\[object", page.said)


async def opened(site: Site, life: str) -> tuple[Mandated, Browser]:
    m = await LIVES[life](site.world)
    return m, await site.signed_in(m.owner_wallet)


@pytest.mark.slow
@pytest.mark.parametrize("life", LIVES)
async def test_a_glance_says_what_is_allowed_what_is_used_and_what_could_be_lost(
    site: Site, life: str
) -> None:
    m, browser = await opened(site, life)
    page = await browser.get(f"/app/mandates/{m.id}")
    if life not in GLANCE:
        # The place stays, so that what stood there goes from a page that is open.
        assert not "".join(e.text for e in page.all("div", id="glance")).strip()
        return
    told = page.one("div", id="glance").text
    for part in GLANCE[life].split(" Used today "):
        assert part.removeprefix("Allowed ") in " ".join(told.split()), told
    assert "Could be lost" in told
    lost = (await site.world.ok("mandate_get", m.owner, public_id=m.id))["exposure"]["ever"]
    assert f"{float(lost):,.2f}" in told


@pytest.mark.slow
@pytest.mark.parametrize("life", LIVES)
async def test_every_page_of_a_mandate_that_is(site: Site, life: str) -> None:
    m, browser = await opened(site, life)
    base = f"/app/mandates/{m.id}"
    for path in ("/app", "/app/mandates", f"{base}/record", f"{base}/record?as=stored", f"{base}/statement", "/app/statement",
                 "/app/hall", f"/app/hall/{m.agent.user_id}", "/app/agents", f"/app/agents/{m.agent.user_id}", "/app/deposit?amount=100"):  # fmt: skip
        fine(await browser.get(path))
    page = await browser.get(base)
    if life == "draft":
        assert (page.status, page.headers["Location"]) == (303, f"{base}/review")
        assert "A draft waits for your signature" in (await browser.get("/app")).said
        return
    fine(page)
    assert SAYS[life] in page.one("h1").text
    head = page.source[page.source.index('id="head"') : page.source.index('id="waiting"')]
    assert [b.strip() for b in re.findall(r'class="btn[^>]*>([^<]+)<', head)] == BUTTONS[life]
    shown = (
        [e.text for e in page.all("dt")][-4:]
        if life == "cancelled"
        else [e.text for e in page.all("dt")]
    )
    wanted = (
        FIGURES.get(life)
        or FIGURES[
            "signed"
            if life in ("created", "cancelled")
            else "settled"
            if "settled" in life
            else "working"
        ]
    )
    assert [t for t in shown if t in wanted] == wanted
    assert "Your signature fits these terms" in page.said


@pytest.mark.slow
async def test_a_working_mandate_says_what_is_allowed_used_and_could_be_lost(site: Site) -> None:
    m, browser = await opened(site, "working")
    page = await browser.get(f"/app/mandates/{m.id}")
    assert "The agent asks to spend 90.00 USDC" in page.said
    assert "Within the per-action limit of 100.00 (clause 2)" in page.said
    assert "Leaves 110.00 of today’s 250.00 (clause 3)" in page.said
    assert "50.00 of 250.00" in page.said
    assert "In one go, before a pause can land" in page.said
    assert "Put to work" in page.said
    assert "reported by the agent, confirmed on chain" in page.said
    assert "Attempt refused: above the per-action limit" in page.said
    (_wide, _narrow) = page.all("svg", role="img")
    assert len(page.one("table", id="points").text.split("2026-11-")) == 3
    assert page.one("tr", data_read="21 Nov: worth 500.00 USDC, spent 50.00")


@pytest.mark.slow
async def test_an_action_is_approved_or_declined_without_any_script(site: Site) -> None:
    m = await working(site.world, approval_above_usdc="20")
    browser = await site.signed_in(m.owner_wallet)
    ids = [(await m.execute(a)).body["approval"]["approval_id"] for a in ("30", "40", "45")]  # type: ignore[index]
    base = f"/app/mandates/{m.id}"
    paths = [f"{base}/approvals/{i}" for i in ids]
    page = await browser.get(paths[0])
    fine(page)
    assert "Tried out just now: it works" in page.said
    assert "After it, possible in one action: 100.00 USDC" in page.said
    done = await browser.submit(paths[0], paths[0], decision="approve", note="go\r\nahead")
    assert (done.status, done.headers["Location"]) == (303, f"{base}#record")
    answered = await browser.get(paths[0])
    fine(answered)
    assert "Approved, not used yet" in answered.said
    assert not answered.all("button", name="decision")
    assert (await browser.submit(base, paths[1], decision="decline")).status == 303
    assert "You declined" in (await browser.get(base)).said
    # The other way, from a page that was open all the while.
    late = await browser.post(paths[1], {"csrf": page.token(), "decision": "approve"})
    assert late.status == 409
    assert "It changed meanwhile. This is how it stands now." in late.said
    odd = await browser.post(paths[2], {"csrf": page.token(), "decision": "perhaps"})
    assert (odd.status, "For support" in odd.said) == (400, True)
    site.world.clock.forward(hours=11)
    again = await browser.get("/app")
    assert "1 waits for you" in again.said
    assert "An agent asks to spend 45.00 USDC" in again.said


async def test_another_owner_sees_nothing_of_a_mandate(site: Site) -> None:
    m = await working(site.world)
    _, stranger = await site.world.owner()
    browser = await site.signed_in(stranger)
    for path in ("", "/record", "/statement", "/approvals/ap_aaaaaaaaaa"):
        page = await browser.get(f"/app/mandates/{m.id}{path}")
        assert (page.status, "not yours to see" in page.said) == (404, True)
    assert (await browser.get(f"/app/agents/{m.agent.user_id}")).status == 404
    assert "No mandate yet" in (await browser.get("/app")).said


async def test_every_owner_page_leads_nobody_to_sign_in_and_back(site: Site) -> None:
    from app.screens import PAGES

    browser = site.browser()
    for page in PAGES:
        path = re.sub(r"{\w+}", "m_aaaaaaaaaa", page.path)
        if not page.owner:
            continue
        if page.method == "GET":
            found = await browser.get(path)
            assert (found.status, found.headers["Location"]) == (303, f"/app/sign-in?next={path}")
        else:
            refused = await browser.post(path, {}, Referer=site.base + "/app/agents")
            assert refused.status == 401
            assert refused.one("input", name="next").attributes["value"] == "/app/agents"
            assert "What you sent was not taken" in refused.said
            assert "Nothing was lost" not in refused.said


async def test_every_write_is_refused_without_its_token(site: Site) -> None:
    from app.screens import PAGES

    _, wallet = await site.world.owner()
    browser = await site.signed_in(wallet)
    writes = [p for p in PAGES if p.method == "POST" and p.token]
    assert len(writes) >= 6
    for page in writes:
        path = re.sub(r"{\w+}", "x_aaaaaaaaaa", page.path)
        assert (await browser.post(path, {"csrf": "x" * 32})).status == 403, path
        assert (await browser.raw("POST", path, {"Sec-Fetch-Site": "cross-site"}, {})).status == 403
        assert (await browser.raw("POST", path, {"Origin": "null"}, {})).status == 403


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
    for who, paths in (
        (
            browser,
            (
                "/app",
                base,
                f"{base}/record",
                f"{base}/record?as=stored",
                f"{base}/approvals/{item}",
                f"{base}/statement?week=2026-W47",
                f"/app/agents/{m.agent.user_id}",
                f"/app/hall/{m.agent.user_id}",
                "/app/hall",
            ),
        ),
        (
            own,
            (
                "/app/agents",
                f"/app/agents/{told['agent_id']}",
                f"/app/hall/{told['agent_id']}",
                "/app/hall",
            ),
        ),
    ):
        for path in paths:
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
        f"{other}/review", f"/app/start?draft={draft['mandate']['public_id']}", "/app/notices", "/app/agents", f"/app/agents/{agent_id}", "/app/hall", f"/app/hall/{agent_id}",
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
    assert seen >= 12


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
    _, wallet = await site.world.owner()
    browser = await site.signed_in(wallet)
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
    first_key = re.search(r"keys/(k_\w+)/revoke", full.source)
    assert first_key
    gone = await browser.submit(path, f"{path}/keys/{first_key[1]}/revoke")
    assert gone.status == 303
    bad = await browser.submit("/app/agents", "/app/agents", name="x", address="0x12")
    assert (bad.status, bad.one("input", name="address").attributes["value"]) == (400, "0x12")


async def test_a_policy_is_written_whole_and_its_log_says_what_changed(site: Site) -> None:
    m = await working(site.world)
    browser, path = await site.signed_in(m.owner_wallet), f"/app/agents/{m.agent.user_id}"
    fields = {
        "per_tx_cap_usdc": "12.5",
        "slippage_bps": "50",
        "assets": '["USDC"]',
        "accepts_mandates": "1",
    }
    assert (await browser.submit(path, f"{path}/policy", **fields)).status == 303
    page = await browser.get(path)
    fine(page)
    assert page.one("input", name="per_tx_cap_usdc").attributes["value"] == "12.500000"
    assert "Most per action, USDC" in page.one("section", id="policy").text
    assert "12.500000" in page.said
    for name, value in (
        ("slippage_bps", "much"),
        ("assets", "{"),
        ("per_tx_cap_usdc", "1e3"),
        ("slippage_bps", "10001"),
    ):
        bad = await browser.submit(path, f"{path}/policy", **(fields | {name: value}))
        assert bad.status == 400
        found = bad.all("input", name=name) or bad.all("textarea", name=name)
        assert value in (found[0].attributes.get("value") or found[0].text)
    assert "12.500000" in (await browser.get(path)).source


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


async def test_a_deposit_shows_a_code_for_the_owners_own_wallet_and_estimates_only(
    site: Site,
) -> None:
    _, wallet = await site.world.owner()
    browser = await site.signed_in(wallet)
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
    run = PageRequest.run

    async def refuses(visit: PageRequest, name: str, /, **raw: object) -> Record:
        if name == "deposit_routes":
            block = Refused(refusal(code, why="x")).refusal.as_json("nobody")
            raise OperationRefused(status, block)
        return await run(visit, name, **raw)

    monkeypatch.setattr(PageRequest, "run", refuses)
    refused = await site.browser().get("/app/deposit?amount=100")
    assert (refused.status, len(refused.all("div", role="alert"))) == (status, 1)


@pytest.mark.parametrize("path", ["/app", "/app/hall", "/app/mandates", "/app/mandates/m_a/pause"])
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
async def test_a_form_that_a_page_does_not_take_is_answered_by_a_page(
    site: Site, method: str, path: str
) -> None:
    _, wallet = await site.world.owner()
    for browser in (site.browser(), await site.signed_in(wallet)):
        for headers in (OWN, {"Sec-Fetch-Site": "cross-site"}):
            refused = await browser.raw(method, path, headers, {"a": "b"})
            assert (refused.status, refused.headers["Allow"]) == (405, "GET, HEAD")
            assert refused.headers["Content-Type"].startswith("text/html")
            assert "This page takes no form" in refused.said


async def test_what_is_no_page_is_no_page_to_any_method(site: Site) -> None:
    for method in ("GET", "POST"):
        lost = await site.browser().raw(method, "/app/nowhere", OWN)
        assert (lost.status, len(lost.all("h1"))) == (404, 1)
    taken = await site.browser().raw("PUT", "/app/agents", OWN)
    assert (taken.status, taken.headers["Allow"]) == (405, "GET, HEAD, POST")
    for path in ("/app/trade/nowhere", "/wallet/nowhere"):
        lost = await site.browser().raw("POST", path, OWN)
        assert (lost.status, lost.headers["Content-Type"][:16]) == (404, "application/json")


@pytest.mark.slow
async def test_a_page_that_is_asked_again_costs_no_rendering_until_something_changes(
    site: Site,
) -> None:
    m = await working(site.world)
    browser = await site.signed_in(m.owner_wallet)
    base = f"/app/mandates/{m.id}"
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


async def test_a_chain_that_does_not_answer_leaves_a_page_of_what_is_recorded(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    m = await working(site.world)
    browser = await site.signed_in(m.owner_wallet)
    dead = EvmChains([site.world.evm.facts(rpc_url="http://127.0.0.1:1")])
    monkeypatch.setattr(site.world.chains, "get", dead.get)
    try:
        page = await browser.get(f"/app/mandates/{m.id}")
    finally:
        await dead.close()
    fine(page)
    assert "The chain could not be read just now" in page.said


@pytest.mark.slow
async def test_a_vault_that_keeps_approvals_gets_the_owners_signature_over_the_very_action(
    sqlite_url: str, evm: Evm
) -> None:
    async with a_world(sqlite_url, evm, approvals_on_chain=True) as world, a_site(world) as site:
        m = await working(world, approval_above_usdc="20")
        browser = await site.signed_in(m.owner_wallet)
        item = (await m.execute("30")).body["approval"]["approval_id"]  # type: ignore[index]
        path = f"/app/mandates/{m.id}/approvals/{item}"
        assert "Look and approve" in (await browser.get(f"/app/mandates/{m.id}")).said
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
        assert "Approved, not used yet" in (await browser.get(path)).said


async def test_a_page_reads_a_vault_once_and_the_next_page_reads_it_again(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    m = await working(site.world)
    browser = await site.signed_in(m.owner_wallet)
    reads: list[str] = []
    whole = EvmChain.vault_states

    async def counted(chain: EvmChain, addresses: list[str], **more: Any) -> object:
        reads.extend(addresses)
        return await whole(chain, addresses, **more)

    monkeypatch.setattr(EvmChain, "vault_states", counted)
    for times in (1, 2):
        fine(await browser.get(f"/app/mandates/{m.id}"))
        assert reads == [m.vault] * times
    await site.world.ok("mandate_get", m.owner, public_id=m.id)
    await site.world.ok("mandate_series", m.owner, public_id=m.id)
    assert len(reads) == 4


@pytest.mark.slow
async def test_a_withdrawal_that_settles_is_one_line_with_all_that_it_did(site: Site) -> None:
    m, browser = await opened(site, "settled")
    page = await browser.get(f"/app/mandates/{m.id}/record")
    fine(page)
    first = page.all("li")[0].text
    assert "You took money out" in first
    assert "Ended by your withdrawal" in first
    assert "Result" in first
    assert "You paused it" not in page.said
    assert "Your instruction" not in page.said
    whole = await browser.get(f"/app/mandates/{m.id}")
    assert "Worth over time" not in whole.said
    assert "Largest action so far" in whole.said


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


async def test_an_action_that_waits_longest_stands_first_so_that_a_new_one_moves_no_button(
    site: Site,
) -> None:
    m = await working(site.world, approval_above_usdc="20")
    browser = await site.signed_in(m.owner_wallet)
    asked = []
    for amount in ("30", "40"):
        asked.append((await m.execute(amount)).body["approval"]["approval_id"])  # type: ignore[index]
        site.world.clock.forward(seconds=5)
    links = (await browser.get(f"/app/mandates/{m.id}")).links()
    shown = [link.rpartition("/")[2] for link in links if "/approvals/" in link]
    assert list(dict.fromkeys(shown)) == asked


async def test_a_draft_that_names_nobody_leads_to_the_choice_of_who_is_to_act(site: Site) -> None:
    m = await drafted(site.world, agent_id=None)
    browser = await site.signed_in(m.owner_wallet)
    choice = f"/app/start?draft={m.id}"
    listed = await browser.get("/app/mandates")
    assert choice in listed.links()
    assert "A draft: choose who is to act" in listed.said
    gone = await browser.get(f"/app/mandates/{m.id}")
    assert (gone.status, gone.headers["Location"]) == (303, choice)
    fine(await browser.get(choice))


@pytest.mark.parametrize(
    ("path", "field"), [("/app/own/enable", "signature"), ("/app/agents/{agent}/policy", "assets")]
)
async def test_what_is_nested_without_end_is_no_fault_of_the_service(
    site: Site, path: str, field: str
) -> None:
    m = await working(site.world)
    browser = await site.signed_in(m.owner_wallet)
    form = {field: "[" * 20_000}
    page = await browser.submit("/app/mandates", path.format(agent=m.agent.user_id), **form)
    assert 400 <= page.status < 500, page.said[:300]


@pytest.mark.parametrize("typed", ["1_0", "٢٥", "-5", "1e2"])
async def test_a_whole_number_of_a_policy_is_digits_alone(site: Site, typed: str) -> None:
    m = await working(site.world)
    browser = await site.signed_in(m.owner_wallet)
    path = f"/app/agents/{m.agent.user_id}"
    page = await browser.submit(path, f"{path}/policy", slippage_bps=typed)
    assert page.status == 400
    assert "a whole number is needed" in page.said


def test_money_that_was_gained_and_taken_out_is_no_budget_put_in() -> None:
    figure = {"value": "100.000000", "set_by": "mandate"}
    used = {n: {"value": "0.000000", "reserved": "0.000000"} for n in ("per_day", "per_action")}
    limits = {
        "allowed": dict.fromkeys(("per_day", "per_action", "budget"), figure),
        "used": used | {"budget": {"value": "-13.500000"}},
    }
    assert [n["used"] for n in limit_meters(limits, open_=False)][-1] == "0.000000"


async def test_every_action_that_waits_is_reached_from_the_list(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mandates, "A_PAGE", 1)
    m = await working(site.world, approval_above_usdc="20")
    for amount in ("30", "40", "50"):
        assert (await m.execute(amount)).status == 202
    browser, at, seen = await site.signed_in(m.owner_wallet), "/app/mandates", set[str]()
    for left in (True, True, False):
        page = await browser.get(at)
        fine(page)
        seen |= {link for link in page.links() if "/approvals/ap_" in link}
        more = [link for link in page.links() if "waiting=" in link]
        assert bool(more) == left == ("of those that wait for you" in page.said)
        at = more[0] if more else at
    assert len(seen) == 3
