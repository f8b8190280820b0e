"""The review page: clauses, possible loss, disclaimers, and each signed value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.replies import Json, Record
from app.views.components import clauses, worst
from app.views.components import refusal as refusals
from app.views.components.clauses import ClauseView
from app.views.components.refusal import RefusalView
from app.views.components.worst import WorstView
from app.words.fields import FIELDS, plain_value
from app.words.text import _
from app.words.untrusted_text import agent_of

ASKING, AT_STOP = 6, 7


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedValueView:
    """One signed value: as the wallet shows it, and what it means."""

    name: str
    raw: str
    kind: str
    meaning: str
    meaning_text: str
    clause: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewView:
    """The page; `block` is what the browser checks and the wallet signs."""

    public_id: str
    budget: str
    agent: Record
    open_board: bool
    purpose: str
    signed: bool
    clauses: tuple[ClauseView, ...]
    worst: WorstView
    unpromised: tuple[str, ...]
    lines: tuple[SignedValueView, ...]
    domain: Mapping[str, object]
    digest: str
    block: Mapping[str, object]
    problem: RefusalView | None


def _unpromised(clause_views: tuple[ClauseView, ...]) -> tuple[str, ...]:
    sentences = [
        _("That the agent earns anything."),
        _("That the stop line holds when a market falls in one step, or cannot pay out."),
    ]
    if any(c.n == ASKING and c.by != "Contract" for c in clause_views):
        sentences.append(
            _("Clause 6 against an agent that goes around this service: it is flagged, not held.")
        )
    later = _("Clause {n} for now: it is stored, and not active on this service.")
    return (*sentences, *(later.format(n=c.n) for c in clause_views if c.inactive))


def lines(typed: Json, clauses: list[Json]) -> tuple[SignedValueView, ...]:
    """The signed values in their order."""
    views = []
    for field in typed["types"]["MandateTerms"]:
        name, raw = field["name"], str(typed["message"][field["name"]])
        meaning, kind = FIELDS.get(name, ("", "text"))
        clause = next((c["n"] for c in clauses if name in c["signed_fields"]), None)
        line = SignedValueView(
            name=name,
            raw=raw,
            kind=kind,
            meaning=meaning,
            meaning_text=plain_value(kind, raw),
            clause=clause,
        )
        views.append(line)
    return tuple(views)


def view(terms: Json, read: Json, refused: Json | None = None) -> ReviewView:
    """`terms` of owner_terms, `read` of mandate_get, `refused` the block of a failed signing."""
    m, typed = read["mandate"], terms["typed_data"]
    clause_views = clauses.view(terms["clauses"])
    markets_clause = next(c for c in terms["clauses"] if c["key"] == "markets")
    public_id = m["public_id"]
    return ReviewView(
        public_id=public_id,
        budget=m["budget_usdc"],
        agent=agent_of(m),
        open_board=m["open_board"],
        purpose=m["purpose"],
        signed=m["status"] != "draft",
        clauses=clause_views,
        worst=worst.view(terms["exposure"], live=False),
        unpromised=_unpromised(clause_views),
        lines=lines(typed, terms["clauses"]),
        domain=typed["domain"],
        digest=terms["digest"],
        block={
            "typed_data": typed,
            "digest": terms["digest"],
            "items": markets_clause["params"]["items"],
            "public_id": public_id,
        },
        problem=None if refused is None else refusals.view(refused, public_id),
    )
