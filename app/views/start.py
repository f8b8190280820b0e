"""The draft page: understood and assumed terms of a note, the form's fields, the agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from app.replies import Json
from app.views.components import clauses, refusal, worst
from app.views.components.clauses import ClauseView
from app.views.components.refusal import RefusalView
from app.views.components.worst import WorstView
from app.words.money import percent, sentence_amount, typed
from app.words.text import _

TERMS: Final[Mapping[str, str]] = {
    "budget_usdc": _("Budget"),
    "per_tx_cap_usdc": _("Most in one action"),
    "daily_cap_usdc": _("Most in a UTC day"),
    "stop_floor_bps": _("Loss at which it stops"),
    "horizon_days": _("How long"),
    "payout_rule": _("The agent’s share of the gain"),
    "approval_above_usdc": _("Asks you above"),
    "on_floor": _("At the stop line"),
    "target_bps": _("Gain hoped for"),
    "markets": _("Where it may act"),
    "allowed_targets": _("Where it may act"),
}
BPS: Final = frozenset({"stop_floor_bps", "target_bps"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadTermView:
    """A term out of the sentence; `theirs` are the writer's words, `why` ours."""

    name: str
    value: str
    theirs: str | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceView:
    """One choice; `theirs` is the name that a person gave it."""

    value: str
    theirs: str
    note: str
    chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StartView:
    """The page; without a draft only the sentence is asked for."""

    note: str
    public_id: str | None
    understood: tuple[ReadTermView, ...]
    assumed: tuple[ReadTermView, ...]
    unclear: tuple[ReadTermView, ...]
    unrelated: tuple[str, ...]
    fields: Mapping[str, str]
    missing: frozenset[str]
    on_floor: str
    markets: tuple[ChoiceView, ...]
    other_calls: int
    agents: tuple[ChoiceView, ...]
    more_agents: bool
    open_board: bool
    clauses: tuple[ClauseView, ...]
    worst: WorstView | None
    ready: bool
    problem: RefusalView | None
    agent: str = ""


def empty(note: str = "", refused: Json | None = None, *, agent: str = "") -> StartView:
    """The first page: a sentence; `agent`: whom it is for, where that is known already."""
    return StartView(
        note=note, public_id=None, understood=(), assumed=(), unclear=(), unrelated=(), fields={},
        missing=frozenset(), on_floor="keep", markets=(), other_calls=0, agents=(),
        more_agents=False, open_board=False, clauses=(), worst=None, ready=False, agent=agent,
        problem=None if refused is None else refusal.view(refused, None),
    )  # fmt: skip


def _value(term: str, value: object) -> str:
    if value is None:
        return _("none")
    if term in BPS and isinstance(value, int):
        return percent(value) or ""
    if isinstance(value, Mapping):
        return percent(int(value["bps"])) or ""
    if isinstance(value, tuple):
        name = (v if isinstance(v, str) else str(v.get("label") or v["kind"]) for v in value)
        return ", ".join(name)
    if term == "horizon_days":
        return _("{days} days").format(days=value)
    if term.endswith("_usdc"):
        return f"{sentence_amount(str(value))} USDC"
    return str(value)


def _reads(rows: Sequence[Json]) -> tuple[ReadTermView, ...]:
    return tuple(
        ReadTermView(
            name=TERMS[r["term"]],
            value=_value(r["term"], r["value"]),
            theirs=r.get("text"),
            why=r.get("why", ""),
        )
        for r in rows
    )


def _unclear(rows: Sequence[Json]) -> tuple[ReadTermView, ...]:
    return tuple(
        ReadTermView(
            name=", ".join(dict.fromkeys(TERMS[c["term"]] for c in r["could_be"])),
            value="",
            theirs=r["text"],
            why=r["why"],
        )
        for r in rows
    )


# The field of the form behind a term.
FIELDS: Final[Mapping[str, str]] = {
    "budget_usdc": "budget_usdc",
    "per_tx_cap_usdc": "per_tx_cap_usdc",
    "daily_cap_usdc": "daily_cap_usdc",
    "approval_above_usdc": "approval_above_usdc",
    "stop_floor_bps": "stop_floor",
    "payout_rule": "share",
    "horizon_days": "horizon_days",
    "on_floor": "on_floor",
    "allowed_targets": "market",
}


def missing(m: Json) -> frozenset[str]:
    """The fields of terms that the sentence leaves open, empty until they are filled in."""
    return frozenset(FIELDS[term] for term in m["unclear_terms"] if term in FIELDS)


def _fields(m: Json) -> dict[str, str]:
    return _read_terms(m) | dict.fromkeys(missing(m), "")


def _read_terms(m: Json) -> dict[str, str]:
    return {
        "budget_usdc": typed(m["budget_usdc"]),
        "per_tx_cap_usdc": typed(m["per_tx_cap_usdc"]),
        "daily_cap_usdc": typed(m["daily_cap_usdc"]),
        "approval_above_usdc": typed(m["approval_above_usdc"]),
        "stop_floor": (percent(m["stop_floor_bps"]) or "").rstrip("%"),
        "share": (percent(m["payout_rule"]["bps"]) or "").rstrip("%"),
        "horizon_days": str(m["horizon_days"]),
    }


def _agents(m: Json, own: Sequence[Json], hall: Sequence[Json]) -> tuple[ChoiceView, ...]:
    rows = {r["agent_id"]: (r["name"], _("yours")) for r in own if r["accepts_mandates"]}
    rows |= {
        r["agent_id"]: (r["name"], _("from the Hall")) for r in hall if r["agent_id"] not in rows
    }
    if m["agent_id"] is not None and m["agent_id"] not in rows:
        rows[m["agent_id"]] = (m["agent_name"] or "", _("named in this draft"))
    return tuple(
        ChoiceView(value=i, theirs=name, note=note, chosen=i == m["agent_id"])
        for i, (name, note) in rows.items()
    )


def _at_the_line(m: Json, typed: Mapping[str, str] | None, still: frozenset[str]) -> str:
    """The chosen action at the stop line; empty where the sentence leaves it open."""
    if typed is not None:
        return typed.get("on_floor", "keep")
    return "" if "on_floor" in still else str(m["on_floor"])


def view(
    read: Json,
    note: Json | None,
    markets: Json,
    own: Json,
    hall: Json,
    *,
    refused: Json | None = None,
    typed: Mapping[str, str] | None = None,
) -> StartView:
    """`read` of mandate_get, `note` of mandate_draft over the draft's own purpose; `typed` what was
    typed into fields that were refused.
    """
    m = read["mandate"]
    still = missing(m)
    response: Json = note or {"understood": (), "assumed": (), "unclear": (), "unrelated": ()}
    name = {t["market"] for t in m["allowed_targets"] if t.get("market")}
    return StartView(
        note=m["purpose"],
        public_id=m["public_id"],
        understood=_reads(response["understood"]),
        assumed=_reads(response["assumed"]),
        unclear=_unclear(response["unclear"]) if m["needs_review"] else (),
        unrelated=tuple(r["text"] for r in response["unrelated"]),
        fields=_fields(m) | dict(typed or {}),
        missing=still,
        on_floor=_at_the_line(m, typed, still),
        markets=tuple(
            ChoiceView(value=r["id"], theirs=r["name"], note=r["status"], chosen=r["id"] in name)
            for r in markets["items"]
            if r["id"] in name or (r["status"] == "live" and r["chain_id"] == m["chain_id"])
        ),
        other_calls=sum(
            t["kind"] in ("contract", "venue") and not t.get("market") for t in m["allowed_targets"]
        ),
        agents=_agents(m, own["items"], hall["items"]),
        more_agents=any(page.get("next_cursor") for page in (own, hall)),
        open_board=m["open_board"],
        clauses=clauses.view(read["clauses"]),
        worst=None if still else worst.view(read["exposure"], live=False),
        ready=(m["agent_id"] is not None or m["open_board"]) and not m["needs_review"],
        problem=None if refused is None else refusal.view(refused, m["public_id"]),
    )
