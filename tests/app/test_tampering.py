"""The browser's own checks, run under Node over pages of a real service: whatever is altered, the
button goes off.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from app import assets
from app.page_context import PageRequest
from app.replies import freeze, thaw
from chain.contracts.eip712 import digest as digest_of
from domain.mandates.terms import FIELDS
from tests import npm
from tests.app.lives import created, sent
from tests.app.site import Page, Site
from tests.purses import opened
from tests.waiting import STUCK_S
from tests.world import CHAIN_ID, drafted, market_targets, signed, working

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.node,
    pytest.mark.slow,
    pytest.mark.skipif(bool(npm.missing()), reason=npm.missing()),
]
ROOT = Path(__file__).parents[2]
JS = ROOT / "app" / "static" / "js"
Json = dict[str, Any]


def node(script: str, module: str, request: Any) -> Any:
    """What a script of tests/node answers over a module of the screens."""
    npm.install()
    done = subprocess.run(
        [str(npm.SHIPPED), str(npm.FOLDER / script), (JS / module).as_uri()],
        input=json.dumps(request), capture_output=True, check=True, timeout=STUCK_S, text=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def looked(pages: list[Json]) -> list[Json]:
    return list(node("terms.mjs", "terms.js", pages))


def as_checked(page: Page) -> Json:
    """What setup.js reads off the page on which terms are signed."""
    block = json.loads(page.one("script", id="terms").text)
    texts: dict[str, str] = {}
    by: dict[str, str] = {}
    rows: list[Json] = []
    n = None
    for e in page.elements:
        n = e.attributes.get("data-clause", n)
        if e.name == "p" and n is not None and n not in texts:
            texts[n] = e.text.strip()
        if e.name == "tr" and n == "5":
            rows.append({"text": e.text, "by": None})
        if "data-by" in e.attributes and n is not None:
            held = e.attributes["data-by"]
            if rows and n == "5" and n in by:
                rows[-1]["by"] = held
            by.setdefault(n, held)
        if e.attributes.get("id") == "lines":
            break
    lines = {
        e.attributes["data-field"]: e.text.strip()
        for e in page.elements
        if "data-field" in e.attributes
    }
    named = {
        name: {
            e.attributes[f"data-{name}"]: e.text.strip()
            for e in page.elements
            if f"data-{name}" in e.attributes
        }
        for name in ("shows", "means")
    }
    written = [e.text for e in page.elements if "data-theirs" in e.attributes]
    words = [json.loads(e.text) for e in page.all("script", id="wallet-says")]
    # The first row of the list is its heading.
    shown = {**named, "by": by, "rows": rows[1:], "written": written, "words": words and words[0]}
    return {**block, "texts": texts, "lines": lines, **shown}


FINE = {"digest": True, "targets": True, "words": [], "shown": []}
TERMS: dict[str, Json] = {
    "as they come": {},
    "asking": {"approval_above_usdc": "60.5"},
    "odd amounts": {"budget_usdc": "1234.567891", "per_tx_cap_usdc": "0.000001", "daily_cap_usdc": "1.1"},
    "closing": {"on_floor": "close", "stop_floor_bps": 1},
    "no fee": {"payout_rule": {"bps": 0}, "stop_floor_bps": 1250},
    "reads of named hosts": {"allowed_targets": [{"kind": "x402", "hosts": ["a.example", "b.example"]}, {"kind": "vault"}]},
    "reads of one host": {"allowed_targets": [{"kind": "x402", "hosts": ["a.example"]}]},
    "reads of any host": {"allowed_targets": [{"kind": "x402"}]},
    "every market of our venue": {"allowed_targets": [{"kind": "venue", "venue": "hyperliquid"}]},
    "products that are not listed": {"allowed_targets": [{"kind": "venue", "venue": "hyperliquid", "symbols": ["IGNORE", "ALL-LIMITS"]}]},
    "another venue": {"allowed_targets": [{"kind": "venue", "venue": "elsewhere", "symbols": ["BTC"]}]},
    "an unknown call": {"allowed_targets": [{"kind": "contract", "address": "0x" + "ab" * 20, "selector": "0x12345678", "self_args": [1, 31], "probe": "0x70a08231"}, {"kind": "contract", "address": "0x" + "ab" * 20, "selector": "0x87654321", "probe": "0x70a08232"}]},
    "no list": {"allowed_targets": []},
    "a long list": {"allowed_targets": [{"kind": "contract", "address": f"0x{n:040x}", "selector": "0x12345678"} for n in range(1, 25)]},
}  # fmt: skip


async def test_terms_of_every_kind_pass_the_browsers_checks(site: Site) -> None:
    m, pages = await drafted(site.world), []
    browser = await site.signed_in(m.owner_wallet)
    common = {"budget_usdc": "500", "agent_id": m.agent.user_id, "chain_id": CHAIN_ID,
              "allowed_targets": market_targets(site.world)}  # fmt: skip
    for terms in TERMS.values():
        assert (await m.as_owner("owner_mandate_correct", **common | terms)).status == 200
        pages.append(as_checked(await browser.get(f"/app/mandates/{m.id}/review")))
    found = dict(zip(TERMS, looked(pages), strict=True))
    assert found == dict.fromkeys(TERMS, FINE)


PAYEES = ["0x" + "77" * 20, "0x" + "88" * 20]
PURSES: dict[str, Json] = {
    "as the mandate says": {},
    "limits": {"per_payment_usdc": "0.5", "per_day_usdc": "5", "float_usdc": "2.25"},
    "payees": {"per_payment_usdc": "1", "payees": PAYEES},
}


def paid(purse: Json, *hosts: str) -> list[Json]:
    return [{"kind": "vault"}, {"kind": "x402", "hosts": list(hosts), "purse": purse}]


async def test_terms_with_a_purse_pass_the_browsers_checks_until_any_is_altered(
    paying: Site,
) -> None:
    m, pages = await drafted(paying.world), []
    browser = await paying.signed_in(m.owner_wallet)
    common = {"budget_usdc": "500", "agent_id": m.agent.user_id, "chain_id": CHAIN_ID}
    hosts = ((), ("api.example",))
    for targets in [paid(purse, *named) for purse in PURSES.values() for named in hosts]:
        changed = await m.as_owner("owner_mandate_correct", **common, allowed_targets=targets)
        assert changed.status == 200, changed.body
        review = await browser.get(f"/app/mandates/{m.id}/review")
        # The browser holds the limits to the list that is signed; what the hub is, it cannot tell.
        (mark,) = [
            e for e in review.all("span") if "That this address holds payments" in e.text
            and "data-unchecked" in e.attributes
        ]  # fmt: skip
        assert "unchecked words" in mark.text
        pages.append(as_checked(review))
    assert looked(pages) == [FINE] * 6
    page = pages[-1]
    at = next(n for n, item in enumerate(page["items"]) if item.get("purse"))
    purse = ("items", at, "purse")
    cases = dict(altered(page)) | {
        "a limit": put(page, *purse, "per_payment_usdc", "2.000000"),
        "no limit": put(page, *purse, "per_payment_usdc", None),
        "a payee": put(page, *purse, "payees", PAYEES[::-1]),
        "the hub": put(page, *purse, "hub", "0x" + "99" * 20),
        "a shown payee": put(page, "written", [text.replace("7", "8") for text in page["written"]]),
        "who holds it": put(page, "rows", at, "by", "Service guard"),
    }
    found = dict(zip(cases, looked(list(cases.values())), strict=True))
    assert [name for name, told in found.items() if told == FINE] == []


async def test_after_the_signature_the_sentence_of_the_period_fits_too(site: Site) -> None:
    m, browser, _ = await site.of(drafted(site.world))
    page = as_checked(await browser.get(f"/app/mandates/{m.id}/review"))
    signature = m.owner_wallet.sign_typed(page["typed_data"])
    assert (await m.as_owner("owner_sign", signature=signature)).status == 200
    signed = as_checked(await browser.get(f"/app/mandates/{m.id}/review"))
    assert "until" in signed["texts"]["8"]
    assert looked([signed | {"words": page["words"]}]) == [FINE]


def _digit(raw: str) -> str:
    return raw[:-1] + ("1" if raw[-1] != "1" else "2")


def put(page: Json, *path: Any) -> Json:
    """A copy in which the value at a path is another; the path ends with it, None takes it out."""
    copy = deepcopy(page)
    *way, name, value = path
    at: Any = copy
    for part in way:
        at = at[part]
    if value is None:
        del at[name]
    else:
        at[name] = value
    return copy


def altered(page: Json) -> Iterator[tuple[str, Json]]:
    """Each single alteration, with its name."""
    typed, items, last = "typed_data", page["items"], len(page["items"]) - 1
    for name, raw in page[typed]["message"].items():
        other = _digit(str(raw))
        yield f"the value {name}", put(page, typed, "message", name, other)
        yield f"the line of {name}", put(page, "lines", name, other)
    for n, text in page["texts"].items():
        yield f"a word of clause {n}", put(page, "texts", n, text + " Always.")
        yield f"clause {n} left out", put(page, "texts", n, None)
        for at, character in enumerate(text):
            if character.isdigit():
                digit = text[:at] + _digit(character) + text[at + 1 :]
                yield f"digit {at} of clause {n}", put(page, "texts", n, digit)
    domain = (typed, "domain")
    yield "the chain", put(page, *domain, "chainId", 8453)
    yield "the factory", put(page, *domain, "verifyingContract", "0x" + "11" * 20)
    yield "the version", put(page, *domain, "version", "3")
    yield "the name", put(page, *domain, "name", "Mandates")
    yield "the type", put(page, typed, "primaryType", "Permit")
    yield "a field more", put(page, typed, "message", "extra", "1")
    yield "a field less", put(page, typed, "message", "perTxCap", None)
    yield "a field's type", put(page, typed, "types", "MandateTerms", 3, "type", "uint8")
    yield "the fingerprint", put(page, "digest", _digit(page["digest"]))
    yield "an entry left out", put(page, "items", items[:-1])
    yield "an entry twice", put(page, "items", [*items, items[-1]])
    yield "an address", put(page, "items", last, "address", "0x" + "22" * 20)
    yield "a selector", put(page, "items", last, "selector", "0x00000000")
    yield "a pinned argument", put(page, "items", last, "self_args", [5])


async def test_whatever_is_altered_some_check_of_the_browser_fails(site: Site) -> None:
    m = await drafted(site.world, approval_above_usdc="60")
    page = await (await site.signed_in(m.owner_wallet)).get(f"/app/mandates/{m.id}/review")
    cases = dict(altered(as_checked(page)))
    assert len(cases) > 70
    found = dict(zip(cases, looked(list(cases.values())), strict=True))
    assert [name for name, told in found.items() if told == FINE] == []


class Checked(Page):
    """A page without the words that it marks as unchecked."""

    def handle_data(self, data: str) -> None:
        if not any("data-unchecked" in e.attributes for e in self._open):
            super().handle_data(data)


ANSWERED = {"enforced_by": ("Contract", "Service guard", "Venue"), "status": ("enforced", "stored_pending")}  # fmt: skip


def leaves(value: Any, *path: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every other value that a leaf of an answer may be altered to, with its place."""
    if isinstance(value, dict | list):
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        for name, part in parts:
            yield from leaves(part, *path, name)
    elif path[-1] in ANSWERED and value in ANSWERED[path[-1]]:
        yield from ((path, other) for other in ANSWERED[path[-1]] if other != value)
    elif isinstance(value, bool):
        yield path, not value
    elif isinstance(value, int):
        yield path, value + 1
    elif isinstance(value, str) and value:
        yield path, _digit(value)
    elif value is None:
        yield path, "7"


OTHERS = [
    pytest.param(t, marks=pytest.mark.play) for t in ("reads of named hosts", "another venue")
]


# Every value of every answer is a page of its own, and a third of them is the same for all terms.
@pytest.mark.parametrize("terms", ["asking", *OTHERS])
async def test_whatever_of_the_answers_is_altered_is_found_or_marked_as_unchecked(
    site: Site, monkeypatch: pytest.MonkeyPatch, terms: str
) -> None:
    m = await drafted(site.world, purpose="Only lend, and leave a reserve.", **TERMS[terms])
    browser, path = await site.signed_in(m.owner_wallet), f"/app/mandates/{m.id}/review"
    answers: dict[str, Json] = {}
    alter: list[tuple[str, tuple[Any, ...], Any]] = []
    run = PageRequest._run

    async def altered(self: PageRequest, key: str | None, name: str, arguments: Any) -> Any:
        answer = await run(self, key, name, arguments)
        if not alter:
            answers[name] = thaw(answer)
        for of, way, value in alter:
            if of == name:
                answer = freeze(put(thaw(answer), *way, value))
        return answer

    monkeypatch.setattr(PageRequest, "_run", altered)
    page = await browser.get(path)
    honest = Checked(page.status, page.headers, page.source).said
    shown: dict[str, Page] = {}
    for name, answer in list(answers.items()):
        for way, value in leaves(answer):
            alter[:] = [(name, way, value)]
            got = await browser.get(path)
            there = got.all("body", data_chain=str(page.one("body").attributes["data-chain"]))
            if got.status == 200 and there and got.all("button", id="sign"):
                shown[f"{name} {way} {value!r}"] = got
    assert len(shown) > 150
    found = dict(zip(shown, looked([as_checked(p) for p in shown.values()]), strict=True))
    words = {n: Checked(p.status, p.headers, p.source).said for n, p in shown.items()}
    passed = [n for n, checks in found.items() if checks == FINE and words[n] != honest]
    assert passed == [], "\n".join(passed)
    assert sum(checks != FINE for checks in found.values()) > 60
    assert any(p.said != page.said and found[n] == FINE for n, p in shown.items()), "marked"


async def test_values_altered_together_with_their_fingerprint_still_fail_by_their_words(
    site: Site,
) -> None:
    m = await drafted(site.world, approval_above_usdc="60")
    page = as_checked(
        await (await site.signed_in(m.owner_wallet)).get(f"/app/mandates/{m.id}/review")
    )
    told_in_words = ("budgetUsdc", "perTxCap", "dailyCap", "stopFloor", "stopFloorBps", "horizonDays", "endsAt",
                     "agentFeeBps", "approvalAbove", "onFloor", "issuedAt")  # fmt: skip
    cases = []
    for name in (*told_in_words, "allowedTargetsHash", "guardTargetsHash"):
        copy = deepcopy(page)
        copy["typed_data"]["message"][name] = _digit(page["typed_data"]["message"][name])
        copy["lines"][name] = copy["typed_data"]["message"][name]
        copy["digest"] = digest_of(copy["typed_data"])
        cases.append(copy)
    found = looked(cases)
    assert all(told["digest"] for told in found)
    assert [told for told in found[:-2] if not told["words"]] == []
    assert [told["targets"] for told in found[-2:]] == [False, False]


def _shape(inputs: list[Json]) -> list[Any]:
    return [[i["name"], i["type"], _shape(i.get("components", []))] for i in inputs]


def test_the_shapes_in_the_browser_are_those_of_the_terms_and_the_contracts() -> None:
    script = f"import('{(JS / 'abi.js').as_uri()}').then((m) => console.log(JSON.stringify(m)))"
    npm.install()
    ran = subprocess.run(
        [str(npm.SHIPPED), "-e", script],
        capture_output=True,
        check=True,
        timeout=STUCK_S,
        text=True,
    )
    told = json.loads(ran.stdout)
    assert tuple((f["name"], f["type"]) for f in told["TERMS"]) == FIELDS["2"]
    known = {
        f["name"]: f
        for contract in (
            "MandateVaultFactory",
            "MandateVault",
            "TestUSDC",
            "PurseHubDeployer",
            "Purse",
            "PurseHub",
        )
        for f in json.loads((ROOT / "chain" / "abi" / f"{contract}.json").read_text())["abi"]
        if f["type"] == "function"
    }
    for mine in told["ABI"]:
        wanted = known[mine["name"]]
        if mine["name"] == "create":
            assert _shape(mine["inputs"]) == _shape(wanted["inputs"])
        assert [i["type"] for i in mine["inputs"]] == [i["type"] for i in wanted["inputs"]]
    assert assets.FILES["js/abi.js"]


def as_sent(page: Page, owner: str) -> Json:
    """What send.js reads off a page."""
    says = {e.attributes["data-says"]: e.text.strip() for e in page.elements if "data-says" in e.attributes}  # fmt: skip
    signed = page.all("script", id="signed-terms")
    return {
        "kind": next(e.attributes["data-send"] for e in page.elements if "data-send" in e.attributes),
        "calls": json.loads(page.one("script", id="calls").text),
        "says": says,
        "owner": owner,
        "chain": page.one("body").attributes["data-chain"],
        "signed": json.loads(signed[0].text) if signed else None,
    }  # fmt: skip


def unlike(sent: Json) -> Iterator[tuple[str, Json]]:
    """Each single alteration of a sending, with its name."""
    kind = sent["kind"]
    for n, call in enumerate(sent["calls"]):
        data = call["data"]
        for at in range(2, len(data), max(1, len(data) // 40)):
            if kind == "create" and at > len(data) - 194:
                break  # the signature itself, which the factory checks
            other = data[:at] + ("1" if data[at] != "1" else "2") + data[at + 1 :]
            yield f"{kind} {n}: digit {at}", put(sent, "calls", n, "data", other)
        yield f"{kind} {n}: to", put(sent, "calls", n, "to", "0x" + "33" * 20)
        yield f"{kind} {n}: value", put(sent, "calls", n, "value", "1")
        yield f"{kind} {n}: chain", put(sent, "calls", n, "chain_id", 1)
        yield f"{kind} {n}: from", put(sent, "calls", n, "from", "0x" + "44" * 20)
    yield f"{kind}: one more", put(sent, "calls", [*sent["calls"], sent["calls"][-1]])
    yield f"{kind}: none", put(sent, "calls", [])
    yield f"{kind}: another owner", put(sent, "owner", "0x" + "55" * 20)
    yield f"{kind}: another network", put(sent, "chain", "1")
    for name, text in sent["says"].items():
        yield f"{kind}: the screen's {name}", put(sent, "says", name, _digit(text))
    for name in (sent["signed"] or {}).get("typed_data", {}).get("message", {}):
        raw = sent["signed"]["typed_data"]["message"][name]
        changed = put(sent, "signed", "typed_data", "message", name, _digit(raw))
        yield f"{kind}: signed {name}", changed


async def test_a_transaction_that_is_not_what_its_button_says_is_not_sent(site: Site) -> None:
    m, browser, base = await site.of(signed(site.world))
    pages = [as_sent(await browser.get(f"{base}/create"), m.owner_wallet.address)]
    m, browser, base = await site.of(working(site.world))
    owner = m.owner_wallet.address
    acts = ("pause", "stop", "record-value", "withdraw")
    pages += [as_sent(await browser.get(f"{base}/{kind}"), owner) for kind in acts]
    await sent(m, "owner_pause_call")
    pages.append(as_sent(await browser.get(f"{base}/resume"), m.owner_wallet.address))
    m, browser, _ = await site.of(created(site.world))
    fund = await browser.get(f"/app/mandates/{m.id}/fund?amount=120.50")
    pages.append(as_sent(fund, m.owner_wallet.address))
    assert node("sends.mjs", "send.js", pages) == [True] * 7
    cases = {name: case for page in pages for name, case in unlike(page)}
    assert len(cases) > 150
    found = dict(zip(cases, node("sends.mjs", "send.js", list(cases.values())), strict=True))
    assert [name for name, would in found.items() if would] == []


async def test_the_hub_of_a_purse_is_made_with_the_limits_on_the_screen_alone(paying: Site) -> None:
    for purse in PURSES.values():
        m, browser, base = await paying.of(signed(paying.world, allowed_targets=paid(purse)))
        page = as_sent(await browser.get(f"{base}/create"), m.owner_wallet.address)
        assert len(page["calls"]) == (2 if purse else 1)
        assert [c.get("step") for c in page["calls"]][1:] == ["create vault"] * bool(purse)
        assert node("sends.mjs", "send.js", [page]) == [True]
        cases = dict(unlike(page))
        found = dict(zip(cases, node("sends.mjs", "send.js", list(cases.values())), strict=True))
        assert [name for name, would in found.items() if would] == []


async def test_only_what_makes_the_payments_of_this_purse_void_is_sent(paying: Site) -> None:
    purse = await opened(paying.world)
    await purse.fund("20")
    browser = await paying.signed_in(purse.m.owner_wallet)
    page = as_sent(
        await browser.get(f"/app/mandates/{purse.m.id}/void"), purse.m.owner_wallet.address
    )
    assert node("sends.mjs", "send.js", [page]) == [True]
    cases = dict(unlike(page))
    found = dict(zip(cases, node("sends.mjs", "send.js", list(cases.values())), strict=True))
    assert [name for name, would in found.items() if would] == []
    assert len(cases) > 15


@pytest.mark.parametrize(
    ("kind", "ends"), [("drain", "owner_stop_call"), ("sweep", "owner_withdraw_call")]
)
async def test_only_what_empties_the_purse_of_this_vault_is_sent(
    paying: Site, kind: str, ends: str
) -> None:
    purse = await opened(paying.world)
    await purse.fund("20")
    await sent(purse.m, ends)
    browser = await paying.signed_in(purse.m.owner_wallet)
    page = as_sent(
        await browser.get(f"/app/mandates/{purse.m.id}/{kind}"), purse.m.owner_wallet.address
    )
    assert node("sends.mjs", "send.js", [page]) == [True]
    cases = dict(unlike(page))
    found = dict(zip(cases, node("sends.mjs", "send.js", list(cases.values())), strict=True))
    assert [name for name, would in found.items() if would] == []
    assert len(cases) > 15


def test_what_is_under_way_holds_its_own_page_and_position_and_no_other() -> None:
    base = "/app/mandates/m_a"
    exits = [
        f"{base}/unwind?market=pool",
        f"{base}/unwind?again=1&market=pool",
        f"{base}/unwind?market=other",
        f"{base}/unwind",
        f"{base}/pause",
    ]
    assert node("once.mjs", "once.js", exits) == [True, True, False, False, False]
    funds = [f"{base}/fund?amount=120", f"{base}/fund?amount=50", f"{base}/fund"]
    assert node("once.mjs", "once.js", funds) == [True, True, True]
