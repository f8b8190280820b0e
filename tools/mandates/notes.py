"""A purpose note in plain words, read into a draft."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

from pydantic import Field

from domain.ledger.books import EMPTY
from domain.mandates.clauses import Clause, clauses
from domain.mandates.mandate import DraftAttributes, Mandate
from domain.mandates.markets import from_config
from domain.mandates.notes.draft import Draft, parse_note
from domain.mandates.targets import ShownTarget
from domain.money import Usdc
from domain.refusals import Refused, refusal
from domain.rules.case import Case
from domain.rules.exposure import Exposure, exposure
from storage.unit_of_work import UnitOfWork
from tools.call.approving import kept_for_drafts
from tools.call.case import keeper_key
from tools.call.fields import Lines
from tools.call.once import by_owner
from tools.call.operation import HEAVY, Ask, Caller, Deps, Gives, Operation, Reply, Takes
from tools.mandates.drafts import BAD_TERMS, new_draft, owner_of
from tools.mandates.typed_fields import NOTE_MAX, Terms, TypedFields, applied, blank, payout

TermName = Literal[
    "budget_usdc", "per_tx_cap_usdc", "daily_cap_usdc", "stop_floor_bps", "horizon_days",
    "payout_rule", "approval_above_usdc", "on_floor", "target_bps", "markets", "allowed_targets",
]  # fmt: skip


class NotedTerms(TypedFields):
    """Typed fields beside a note: any of a create body. They win over what the note says."""

    budget_usdc: Usdc | None = None
    open_board: bool = Field(
        default=False, description="offer it to every agent; only where no agent is named"
    )


class Note(Takes):
    """A purpose note in plain words, and typed terms beside it."""

    note: Lines = Field(
        max_length=NOTE_MAX,
        description="what the money is for, how much, how long, in plain words",
        examples=["500 USDC for lending, at most 50 per trade, 30 days"],
    )
    terms: NotedTerms | None = Field(
        default=None,
        description="the fields of mandate_propose that you know; they win over the note",
    )
    save: bool = Field(default=False, description="store the draft; needs an owner session")


class FeeValue(Gives):
    """The agent's fee."""

    kind: str
    bps: int = Field(description="share of verified gain, in 1/10000")


class UnderstoodOut(Gives):
    """A term that was typed, or that the note states."""

    term: TermName
    value: str | int | FeeValue | list[str] | list[ShownTarget] | None
    text: str | None = Field(
        description="the note's own words, which are the writer's, nobody has checked them; null "
        "of a term that was typed"
    )


class AssumedOut(Gives):
    """A term that nothing in the note can concern, and the value it has."""

    term: TermName
    value: str | int | FeeValue | list[ShownTarget] | None
    why: str = Field(description="the service's own words")


class CouldBeOut(Gives):
    """What an unclear clause may mean."""

    term: TermName
    value: str | int | FeeValue | list[str] | None = Field(
        description="null where the clause gives no value for it, or where null is the value"
    )


class UnclearOut(Gives):
    """Words of which nothing was taken."""

    text: str = Field(description="the note's own words: the writer's, nobody has checked them")
    why: str = Field(description="the service's own words")
    could_be: list[CouldBeOut]


class UnrelatedOut(Gives):
    """A sentence without a figure or a word of the terms."""

    text: str = Field(description="the note's own words: the writer's, nobody has checked them")


class DraftOut(Gives):
    """What a note was understood as; a term that it leaves open is null in the draft, has no
    clause, and is listed in what is unclear.
    """

    draft: DraftAttributes
    clauses: list[Clause]
    exposure: Exposure | None = Field(description="null while an amount behind it is unclear")
    understood: list[UnderstoodOut]
    assumed: list[AssumedOut]
    unclear: list[UnclearOut]
    unrelated: list[UnrelatedOut]
    needs_review: bool = Field(
        description="true where something is unclear: no terms are given for signing until the "
        "owner has PUT typed fields"
    )
    saved: bool
    public_id: str | None


@dataclass(frozen=True, slots=True)
class NoteFacts:
    """The note, read before the transaction."""

    read: Draft
    kept: bool | None


_MONEY_AT_RISK: Final = frozenset({"budget_usdc", "daily_cap_usdc", "stop_floor_bps"})
# Null says something of these; of the others that nothing was typed.
_MAY_BE_NULL: Final = frozenset({"approval_above_usdc", "target_bps"})


def _typed(terms: NotedTerms | None) -> dict[str, object]:
    """The fields that were typed, by name."""
    if terms is None:
        return {}
    given = {n: getattr(terms, n) for n in sorted(terms.model_fields_set)}
    typed = {n: v for n, v in given.items() if v is not None or n in _MAY_BE_NULL}
    if "payout_rule" in typed:
        kind, bps = payout(terms)
        typed["payout_rule"] = {"kind": kind, "bps": bps}
    return typed


async def read_note(deps: Deps, caller: Caller, asked: Note) -> NoteFacts:
    """Read the note beside its typed terms."""
    typed = _typed(asked.terms)
    chosen = asked.terms.chain_id if asked.terms else None
    chain_id = chosen or caller.chain_id or deps.config.default_chain_id
    names = [market.name for market in from_config(deps.config.markets)]
    read = parse_note(asked.note, market_names=names, typed=typed)
    return NoteFacts(read, await kept_for_drafts(deps, chain_id))


def _terms(asked: Note, read: Draft) -> Terms:
    """The create body: what was typed, what was read, and the preset in all that is open."""
    typed = _typed(asked.terms)
    known = {n: v for n, v in read.terms.items() if n != "allowed_targets"} | typed
    caps = [known[n] for n in ("per_tx_cap_usdc", "daily_cap_usdc") if n in known]
    amounts = [cap if isinstance(cap, Usdc) else Usdc.parse(cap) for cap in caps]
    # Never shown where it is open; it only has to be no less than the caps that are known.
    budget = {"budget_usdc": max([Usdc.parse(500), *amounts])}
    return Terms.model_validate(budget | {"purpose": asked.note} | known)


def draft(uow: UnitOfWork, ask: Ask[Note, NoteFacts]) -> Reply:
    """Answer with the draft of a note; store nothing unless an owner asks for it."""
    read, caller = ask.facts.read, ask.caller
    terms, unclear = _terms(ask.asked, read), read.left_open
    if ask.asked.save and caller.role == "nobody":
        raise Refused(refusal("unauthenticated", needs="an owner session, to save a draft"))
    if ask.asked.save and caller.role != "owner":
        raise Refused(refusal("forbidden", why="saving a draft needs an owner session"))
    if ask.asked.save:
        owner = owner_of(caller)
        m = new_draft(uow, ask, owner, terms, kept=ask.facts.kept, unclear_terms=unclear)
    else:
        m, own = blank(ask, "", "", "", terms), caller.chain_id
        m = applied(uow, ask, m, terms, kept=ask.facts.kept, own_chain=own)
        m = replace(m, needs_review=read.needs_review, unclear_terms=unclear)
    at_risk = Case(m, EMPTY, ask.now, ask.config, ask.switches)
    told = {
        "draft": m.draft_attributes(),
        "clauses": clauses(m, ask.switches, keeper_key=keeper_key(uow, ask, m)),
        "exposure": None if _MONEY_AT_RISK & set(unclear) else exposure(at_risk),
        "understood": [
            {"term": u.term, "value": _shown(m, u.term, u.value), "text": u.text}
            for u in read.understood
        ],
        "assumed": [{"term": a.term, "value": a.value, "why": a.why} for a in read.assumed],
        "unclear": [
            {
                "text": u.text,
                "why": u.why,
                "could_be": [{"term": c.term, "value": c.value} for c in u.could_be],
            }
            for u in read.unclear
        ],
        "unrelated": [{"text": text} for text in read.unrelated],
        "needs_review": read.needs_review,
        "saved": ask.asked.save,
        "public_id": m.public_id or None,
    }
    return Reply(201 if ask.asked.save else 200, told)


def _shown(m: Mandate, term: str, value: object) -> object:
    """A value as it is told; calls with the labels of the service."""
    return [t.shown() for t in m.allowed_targets] if term == "allowed_targets" else value


def _saved_once(caller: Caller, asked: Note) -> str | None:
    """The scope of the key of a draft that is stored."""
    return by_owner("drafts")(caller, asked) if asked.save and caller.role == "owner" else None


OPERATIONS: Final = (
    Operation(
        name="mandate_draft",
        title="Read a purpose note",
        summary="Turn a purpose note, and typed terms beside it, into a draft: what was "
        "understood, assumed, unclear. Stores nothing unless an owner saves it.",
        auth="open",
        route=("POST", "/wallet/mandates/draft"),
        takes=Note,
        gives=DraftOut,
        handler=draft,
        gather=read_note,
        writes=True,
        weight=HEAVY,
        idempotency=_saved_once,
        on_mcp=True,
        statuses={200: "The draft, not stored", 201: "The draft, stored"},
        refusals=("unauthenticated", "forbidden", *BAD_TERMS),
    ),
)
