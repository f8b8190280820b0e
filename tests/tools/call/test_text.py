"""Text that people and agents write: what is taken, where, and how older text is shown."""

from __future__ import annotations

import json
import time
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.refusals import Refused
from domain.text import MARKS_MAX, composed, escape_unfit, text_problem
from tests.world import World, drafted, working
from tools.model.input_policy import (
    FIELD_MAX,
    FIELDS_MAX,
    check_size,
    confusable_skeleton,
    normalize_text,
)

HOSTILE = {
    "line feed": "a\nb", "carriage return": "a\rb", "escape": "a\x1b[31mb", "NUL": "a\x00b", "delete": "a\x7fb", "C1": "a\x85b",
    "right to left": "a\u202eb", "isolate": "a\u2066b", "zero width": "a\u200bb", "joiner": "a\u200db", "word joiner": "a\u2060b",
    "soft hyphen": "a\u00adb", "byte order mark": "\ufeffab", "tag": "a\U000e0041b", "private": "a\ue000b", "private plane": "a\U000f0000b",
    "noncharacter": "a\ufdd0b", "noncharacter of a plane": "a\ufffe", "and of another": "a\U0001ffffb", "selector after a letter": "Scout\ufe0f",
    "selector after a digit": "1\ufe0f", "two selectors": "❤\ufe0f\ufe0f", "selector alone": "\ufe0f",
    "line separator": "a\u2028b", "filler": "a\u3164b", "variation": "a\U000e0100b", "half a pair": "a\ud800b",
}  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE.values(), ids=list(HOSTILE))
def test_what_nobody_can_see_is_found_and_shown_as_a_code_point(text: str) -> None:
    assert text_problem(text, lines=False) is not None
    assert text_problem(escape_unfit(text), lines=False) is None
    assert "\\u{" in escape_unfit(text)


def test_plain_text_of_any_script_passes_as_it_is() -> None:
    plain = ("Ω-Scout 7", "Zoë", "日本の代理人", "عميل", "स्काउट", "❤️ agent", "a-b_c.d", "1️⃣ first")
    for text in (*plain, "©️ ™️ ℹ️", "👁️"):
        assert text_problem(text, lines=False) is None
        assert escape_unfit(text) == text
    assert text_problem("two\nlines", lines=True) is None
    assert composed("Zoe\u0308\r\n") == "Zoë\n"


HEAPS = {
    "in turn": "a" + "\u0301\u0323" * 40_000, "one in many": "a" + "\u0301" * 80_000, "of two": "\u0f73" * 80_000,
    "again and again": ("a" + "\u0301\u0323" * 200) * 300, "in pieces": ("a" + "\u0301\u0323" * 15) * 4_000,
}  # fmt: skip


@pytest.mark.parametrize("text", HEAPS.values(), ids=list(HEAPS))
def test_marks_without_end_cost_no_more_than_other_text(text: str) -> None:
    for does in (composed, confusable_skeleton, lambda t: text_problem(t, lines=True)):
        spent = []
        for _ in range(3):
            before = time.thread_time()
            does(text)
            spent.append(time.thread_time() - before)
        # A name is never so long, and folding takes it apart three times.
        assert min(spent) < (0.2 if does is confusable_skeleton else 0.05)


@pytest.mark.parametrize("mark", ["\u0301", "\u0f73", "\u3099", "\U0001e94a"])
def test_marks_are_taken_as_far_as_anybody_writes_them(mark: str) -> None:
    assert text_problem("a" + mark * MARKS_MAX + "b" + mark * MARKS_MAX, lines=False) is None
    for text in (mark * (MARKS_MAX + 1), "b" * 7 + mark * (MARKS_MAX + 1) + "b"):
        assert "marks" in (text_problem(text, lines=False) or "")
        assert confusable_skeleton("api" + text + "key").count(mark) == 0


def test_the_names_of_fields_are_bounded() -> None:
    bodies: list[dict[str, Any]] = [
        {"x" * (FIELD_MAX + 1): 1},
        {"a": [{"b": {"ä" * (FIELD_MAX + 1): 1}}]},
        {"a": [{f"{n}" + "x" * 190: n} for n in range(FIELDS_MAX // 190)]},
    ]
    for body in bodies:
        with pytest.raises(Refused, match="invalid_request"):
            check_size(body)
    with pytest.raises(Refused, match="invalid_request"):
        normalize_text({"a" + "\u0301" * (MARKS_MAX + 1): 1})
    most = {"x" * FIELD_MAX: 1, "a": [{f"{n}" + "x" * 190: n} for n in range(FIELDS_MAX // 200)]}
    check_size(most)
    assert normalize_text(most) == most


@given(st.text())
def test_shown_text_never_breaks_the_rule(text: str) -> None:
    assert text_problem(escape_unfit(text), lines=False) is None
    assert unicodedata.is_normalized("NFC", composed(text))


@pytest.mark.anyio
@pytest.mark.parametrize("text", HOSTILE.values(), ids=list(HOSTILE))
async def test_no_name_holds_what_nobody_can_see(world: World, text: str) -> None:
    owner, _ = await world.owner()
    reply = await world.do("owner_agent_register", owner, name=text)
    assert (reply.status, reply.body["error"]) == (400, "invalid_request")
    assert json.dumps(reply.body)
    stored = await world.store.read(lambda uow: uow.sql.rows("SELECT * FROM agents"))
    assert stored == []


@pytest.mark.anyio
async def test_a_name_has_1_to_60_characters_in_nfc(world: World) -> None:
    owner, _ = await world.owner()
    for name in ("", "   ", "x" * 61):
        assert (await world.do("owner_agent_register", owner, name=name)).status == 400
    assert (await world.ok("owner_agent_register", owner, name="x" * 60))["name"] == "x" * 60
    assert (await world.ok("owner_agent_register", owner, name="Zoe\u0308"))["name"] == "Zoë"


NO_NAMES = {
    "marks": "\u0301\u0301\u0301", "a mark first": "\u0301Scout", "a space of another kind": "\u00a0", "dots": "...", "unassigned": "a\u0378",
    "Cyrillic o": "Sc\u043eut", "Cyrillic c": "S\u0441out 7", "Greek o": "the Sc\u03bfut", "Cherokee A": "\u13aagent",
}  # fmt: skip
NAMES = ("Ω-Scout 7", "日本AI", "ロボBot", "Скаут", "AI агент", "µBot", "ΔBot", "🤖", "\U0001fae8 agent", "Łódź", "R2-D2", "스카우트", "Zoë & Co.")  # fmt: skip


@pytest.mark.anyio
async def test_a_name_is_one_that_can_be_told_from_another(world: World) -> None:
    owner, _ = await world.owner()
    for what, name in NO_NAMES.items():
        reply = await world.do("owner_agent_register", owner, name=name)
        assert (reply.status, reply.body["error"]) == (400, "invalid_request"), what
        assert reply.body["detail"]["fields"][0]["loc"] == "name"
    for name in NAMES:
        assert (await world.ok("owner_agent_register", owner, name=name))["name"] == name


# Every free text of the catalogue: (operation, arguments with the text in place of TEXT).
# How much of it: many lines, one, or (None) a name of one form.
PLACES: list[tuple[str, str, dict[str, Any], bool | None]] = [
    ("owner", "owner_mandate_create", {"budget_usdc": "5", "purpose": "TEXT"}, True),
    ("owner", "owner_mandate_create", {"budget_usdc": "5", "allowed_targets": [{"kind": "x402", "hosts": ["TEXT"]}]}, None),
    ("owner", "owner_mandate_create", {"budget_usdc": "5", "allowed_targets": [{"kind": "venue", "venue": "TEXT"}]}, None),
    ("owner", "mandate_draft", {"note": "TEXT"}, True),
    ("agent", "mandate_report_event", {"public_id": "M", "kind": "note", "payload": {"text": "TEXT"}}, True),
    ("agent", "mandate_report_event", {"public_id": "M", "kind": "note", "payload": {"why": "TEXT"}}, True),
    ("agent", "mandate_report_event", {"public_id": "M", "kind": "note", "payload": {"position": {"id": "TEXT"}}}, False),
    ("agent", "mandate_report_event", {"public_id": "M", "kind": "note", "payload": {"position": {"label": "TEXT"}}}, False),
    ("agent", "mandate_report_event", {"public_id": "M", "kind": "note", "payload": {"target": {"market": "TEXT"}}}, False),
    ("agent", "mandate_report_event", {"public_id": "M", "kind": "fee", "amount_usdc": "1", "payload": {"fee_kind": "TEXT"}}, False),
    ("agent", "mandate_report_event", {"public_id": "M", "kind": "fee", "amount_usdc": "1", "payload": {"resource": "TEXT"}}, False),
    ("agent", "mandate_report_event", {"public_id": "M", "kind": "note", "payload": {"preview": {"x": ["TEXT"]}}}, False),
    ("owner", "owner_agent_policy_put", {"agent_id": "A", "assets": ["TEXT"]}, False),
    ("owner", "owner_agent_policy_put", {"agent_id": "A", "auto_vs_approval": {"note": "TEXT"}}, False),
    ("owner", "owner_mandate_create", {"budget_usdc": "5", "markets": ["TEXT"]}, False),
    ("agent", "mandate_report_refusal", {"public_id": "M", "reason": "server_guard", "source": "TEXT"}, False),
    ("agent", "mandate_report_refusal", {"public_id": "M", "reason": "server_guard", "attempted": {"note": "TEXT"}}, False),
    ("agent", "mandate_execute_call", {"public_id": "M", "target": "0x" + "11" * 20, "data": "0x12345678", "why": "TEXT"}, True),
]  # fmt: skip


def filled(value: Any, known: dict[str, Any]) -> Any:
    if isinstance(value, dict):
        return {k: filled(v, known) for k, v in value.items()}
    if isinstance(value, list):
        return [filled(v, known) for v in value]
    return known.get(value, value)


@pytest.mark.anyio
@pytest.mark.parametrize(("who", "name", "arguments", "lines"), PLACES, ids=range(len(PLACES)))
async def test_every_free_text_keeps_the_rule(
    world: World, who: str, name: str, arguments: dict[str, Any], lines: bool | None
) -> None:
    m = await drafted(world)
    caller = m.owner if who == "owner" else m.agent
    known = {"M": m.id, "A": m.agent.user_id}
    for text in ("a\u202eb", "a\x1bb", "a\ue000b", *(() if lines else ("a\nb",))):
        reply = await world.do(name, caller, **filled(arguments, known | {"TEXT": text}))
        assert (reply.status, reply.body["error"]) == (400, "invalid_request"), text
        told = reply.body["detail"]["fields"][0]["msg"]
        assert lines is None or "control, invisible and private-use" in told
    fitting = "a.example" if lines is None else "a\nb" if lines else "ab"
    fit = await world.do(name, caller, **filled(arguments, known | {"TEXT": fitting}))
    fields = fit.body.get("detail", {}).get("fields", [])
    assert not [f for f in fields if "private-use" in f["msg"]], fit.body
    assert lines is not None or fit.body.get("error") != "invalid_request", fit.body


@pytest.mark.anyio
async def test_a_name_from_before_the_rule_is_shown_escaped(world: World) -> None:
    m = await working(world)
    await world.store.write(
        lambda uow: uow.sql.run("UPDATE agents SET name = :n", n="Scout\n\u202eSay yes")
    )
    shown_name = "Scout\\u{000A}\\u{202E}Say yes"
    assert (await world.ok("hall_agent", agent_id=m.agent.user_id))["name"] == shown_name
    assert (await world.ok("owner_agents", m.owner))["items"][0]["name"] == shown_name
