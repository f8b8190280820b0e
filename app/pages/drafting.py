"""A new mandate: from a sentence to a draft, its fields, and the agent that is to act."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

from aiohttp import web

from app.components import refusal
from app.page_context import OperationRefused, PageRequest, PageRoute, whole_number
from app.pages.way_out import left_by_agent
from app.replies import Json, Record
from app.words.money import percent, sentence_amount, typed
from app.words.text import _
from domain.refusals import Refused, invalid

PERCENTAGE: Final = re.compile(r"([0-9]{1,3})(?:\.([0-9]{1,2}))?\s*%?")
NONE: Final = "none"  # an agent that asks for nothing, where an empty field may be an oversight
AMOUNTS: Final = ("per_tx_cap_usdc", "daily_cap_usdc", "approval_above_usdc")
TYPED: Final = ("budget_usdc", *AMOUNTS, "stop_floor", "share", "horizon_days", "on_floor")
TERMS: Final[Mapping[str, str]] = {
    "budget_usdc": _("Budget"),
    "per_tx_cap_usdc": _("Limit per action"),
    "daily_cap_usdc": _("Limit per day (UTC)"),
    "stop_floor_bps": _("Stop line, as a loss of the budget"),
    "horizon_days": _("How long"),
    "payout_rule": _("The agent’s share of the gain"),
    "approval_above_usdc": _("Asks you above"),
    "on_floor": _("At the stop line"),
    "target_bps": _("Gain hoped for"),
    "markets": _("Where it may act"),
    "allowed_targets": _("Where it may act"),
}
# The field of the form behind a term.
FIELDS: Final[Mapping[str, str]] = {
    **{name: name for name in ("budget_usdc", *AMOUNTS, "horizon_days", "on_floor")},
    "stop_floor_bps": "stop_floor",
    "payout_rule": "share",
    "allowed_targets": "market",
}
UNREAD: Final = Record(understood=(), assumed=(), unclear=(), unrelated=())


async def show_start(visit: PageRequest) -> web.Response:
    """The sentence; with `draft` the terms that were made of it."""
    draft = visit.query("draft")
    if draft is not None:
        return await _show_draft(visit, draft)
    return _show_empty(visit, agent=visit.query("agent") or "")


def _show_empty(
    visit: PageRequest, refused: OperationRefused | None = None, *, note: str = "", agent: str
) -> web.Response:
    """The first page: a sentence; `agent`: whom it is for, where that is known already."""
    problem = refusal.view(refused and refused.block)
    view = Record(public_id=None, note=note, agent=agent, problem=problem)
    return visit.show("start.html", view, refused=refused)


async def _show_draft(
    visit: PageRequest, draft: str, refused: OperationRefused | None = None
) -> web.Response:
    read = await visit.run("mandate_get", public_id=draft)
    m = read["mandate"]
    if m["status"] != "draft":
        return visit.go(f"/app/mandates/{draft}")
    note = await visit.run("mandate_draft", note=m["purpose"]) if m["purpose"] else None
    markets = await visit.run("markets_list")
    own = await visit.run("owner_agents", limit=200)
    hall = await visit.run("hall_list", accepting=True)
    typed_now = {n: visit.form.get(n, "") for n in TYPED} if refused is not None else None
    view = Record(
        draft_view(read, note, markets, own, hall, typed_now),
        problem=refusal.view(refused and refused.block, draft),
    )
    return visit.show("start.html", view, refused=refused, chain_id=m["chain_id"])


def draft_view(
    read: Json,
    note: Json | None,
    markets: Json,
    own: Json,
    hall: Json,
    typed_now: Mapping[str, str] | None = None,
) -> Record:
    """`read` of mandate_get, `note` of mandate_draft over the draft's own purpose; `typed_now` what
    was typed into fields that were refused.
    """
    m, response = read["mandate"], note or UNREAD
    still, named = _missing(m), {t["market"] for t in m["allowed_targets"] if t.get("market")}
    on_floor = "" if "on_floor" in still else m["on_floor"]
    return Record(
        public_id=m["public_id"],
        note=m["purpose"],
        understood=tuple(map(_read_term, response["understood"])),
        assumed=tuple(map(_read_term, response["assumed"])),
        unclear=tuple(map(_unclear_term, response["unclear"])) if m["needs_review"] else (),
        unrelated=response["unrelated"],
        fields=Record({**_fields(m), **dict.fromkeys(still, ""), **(typed_now or {})}),
        missing=still,
        on_floor=on_floor if typed_now is None else typed_now.get("on_floor", "keep"),
        markets=tuple(
            Record(r, chosen=r["id"] in named)
            for r in markets["items"]
            if r["id"] in named or (r["status"] == "live" and r["chain_id"] == m["chain_id"])
        ),
        other_calls=sum(map(_is_other_call, m["allowed_targets"])),
        left_by_agent=left_by_agent(
            [t for t in m["allowed_targets"] if _is_other_call(t)], markets
        ),
        agents=tuple(_agents(m, own["items"], hall["items"])),
        more_agents=any(page.get("next_cursor") for page in (own, hall)),
        open_board=m["open_board"],
        clauses=read["clauses"],
        exposure=None if still else read["exposure"],
        ready=(m["agent_id"] is not None or m["open_board"]) and not m["needs_review"],
    )


def _read_term(row: Json) -> Record:
    """A term out of the sentence; `text` are the writer's words, `why` ours."""
    name, value = TERMS[row["term"]], _value(row["term"], row["value"])
    return Record(name=name, value=value, text=row.get("text"), why=row.get("why", ""))


def _unclear_term(row: Json) -> Record:
    terms = dict.fromkeys(TERMS[c["term"]] for c in row["could_be"])
    return Record(name=", ".join(terms), text=row["text"], why=row["why"])


def _value(term: str, value: object) -> str:
    if value is None:
        return _("none")
    if term.endswith("_bps") and isinstance(value, int):
        return percent(value) or ""
    if isinstance(value, Mapping):
        return percent(int(value["bps"])) or ""
    if isinstance(value, tuple):
        return ", ".join(v if isinstance(v, str) else v.get("label") or v["kind"] for v in value)
    if term == "horizon_days":
        return _("{days} days").format(days=value)
    return sentence_amount(str(value)) if term.endswith("_usdc") else str(value)


def _missing(m: Json) -> frozenset[str]:
    """The fields of terms that the sentence leaves open, empty until they are filled in."""
    return frozenset(FIELDS[term] for term in m["unclear_terms"] if term in FIELDS)


def _fields(m: Json) -> dict[str, str]:
    """The terms as a person types them."""
    amounts = {name: typed(m[name]) for name in ("budget_usdc", *AMOUNTS)}
    return {
        **amounts,
        "stop_floor": (percent(m["stop_floor_bps"]) or "").rstrip("%"),
        "share": (percent(m["payout_rule"]["bps"]) or "").rstrip("%"),
        "horizon_days": str(m["horizon_days"]),
    }


def _is_other_call(target: Json) -> bool:
    """True for a call that belongs to no market of this service."""
    return target["kind"] in ("contract", "venue") and not target.get("market")


def _agents(m: Json, own: Sequence[Json], hall: Sequence[Json]) -> Iterator[Record]:
    """The agents to choose from, by the names that people gave them."""
    rows = {r["agent_id"]: (r["name"], _("yours")) for r in own if r["accepts_mandates"]}
    for row in hall:
        rows.setdefault(row["agent_id"], (row["name"], _("from the Hall")))
    if m["agent_id"] is not None:
        rows.setdefault(m["agent_id"], (m["agent_name"] or "", _("named in this draft")))
    for agent_id, (name, note) in rows.items():
        yield Record(agent_id=agent_id, name=name, note=note, chosen=agent_id == m["agent_id"])


async def read_note(visit: PageRequest) -> web.Response:
    """Read the sentence, and keep what was understood as a draft."""
    note, agent = visit.field("note") or "", visit.field("agent") or ""
    try:
        response = await visit.run_once("mandate_draft", note=note, save=True)
    except OperationRefused as refused:
        return _show_empty(visit, refused, note=note, agent=agent)
    if agent:
        with suppress(OperationRefused):  # then somebody else is chosen on the draft
            await visit.run("owner_mandate_assign", public_id=response["public_id"], agent_id=agent)
    return visit.go(f"/app/start?draft={response['public_id']}")


def _bps(visit: PageRequest, name: str) -> int | None:
    """A percentage of the form in ten-thousandths. Errors: `invalid_request`."""
    raw = visit.field(name)
    if raw is None:
        return None
    written = PERCENTAGE.fullmatch(raw)
    bps = int(written[1]) * 100 + int((written[2] or "").ljust(2, "0")) if written else -1
    if not 0 <= bps <= 10_000:
        raise invalid(name, "a percentage from 0 to 100 with at most two decimals")
    return bps


def _days(visit: PageRequest) -> int | None:
    raw = visit.field("horizon_days")
    days = whole_number(raw, 5)
    if raw is not None and days is None:
        raise invalid("horizon_days", "a whole number of days")
    return days


def _typed_terms(visit: PageRequest, m: Json) -> dict[str, object]:
    """The fields of the form as an operation takes them. What the sentence leaves open has to be
    filled in: the preset fills none of it.

    Errors: `invalid_request`.
    """
    for name in sorted(_missing(m) - {"market"}):
        if visit.field(name) is None:
            raise invalid(name, "fill this in: your sentence was not understood here")
    share, agent = _bps(visit, "share"), visit.field("agent")
    asks_above, keeps_others = visit.field("approval_above_usdc"), visit.field("others") == "keep"
    targets, chosen = m["allowed_targets"], [str(n) for n in visit.form.getall("market", [])]
    current = {t["market"] for t in targets if t.get("market")}
    same = set(chosen) == current and (keeps_others or not any(map(_is_other_call, targets)))
    if not same:
        targets = [
            t
            for t in targets
            if t["kind"] in ("vault", "x402") or (keeps_others and not t.get("market"))
        ]
    return {
        "budget_usdc": visit.field("budget_usdc") or "",
        **{name: visit.field(name) for name in AMOUNTS},
        "approval_above_usdc": None if asks_above == NONE else asks_above,
        "stop_floor_bps": _bps(visit, "stop_floor"),
        "horizon_days": _days(visit),
        "payout_rule": None if share is None else {"bps": share},
        "on_floor": visit.field("on_floor"),
        "purpose": m["purpose"],
        "target_bps": m["target_bps"],
        "chain_id": m["chain_id"],
        "allowed_targets": targets,
        "markets": None if same else chosen or None,
        "agent_id": None if agent == "board" else agent,
        "open_board": True if agent == "board" else None,
    }


async def store_draft(visit: PageRequest) -> web.Response:
    """Keep the fields as the draft's terms; then on to the review where that was asked for."""
    draft = visit.path_part("id")
    read = await visit.run("mandate_get", public_id=draft)
    try:
        fields = _typed_terms(visit, read["mandate"])
        await visit.run("owner_mandate_correct", public_id=draft, **fields)
    except OperationRefused as refused:
        return await _show_draft(visit, draft, refused)
    except Refused as wrong:
        block = wrong.refusal.as_json(visit.caller.role)
        return await _show_draft(visit, draft, OperationRefused(400, block))
    if (fields["agent_id"] or fields["open_board"]) and visit.field("then") == "review":
        return visit.go(f"/app/mandates/{draft}/review")
    return visit.go(f"/app/start?draft={draft}")


PAGES: Final = (
    PageRoute("GET", "/app/start", show_start),
    PageRoute("POST", "/app/start", read_note),
    PageRoute("POST", "/app/start/{id}", store_draft),
)
