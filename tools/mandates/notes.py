"""A purpose note in plain words, read into a draft."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

import anyio
from pydantic import Field

from domain.ledger.books import EMPTY
from domain.mandates.clauses import Clause, clauses
from domain.mandates.mandate import DraftAttributes
from domain.mandates.markets import from_config, resolve
from domain.mandates.targets import ShownTarget
from domain.refusals import Refused, refusal
from domain.rules.case import Case
from domain.rules.exposure import Exposure, exposure
from domain.settings import Config
from storage.unit_of_work import UnitOfWork
from tools.call.approving import kept_for_drafts
from tools.call.case import keeper_key
from tools.call.fields import Lines
from tools.call.once import by_owner
from tools.call.operation import HEAVY, Ask, Caller, Deps, Gives, Operation, Reply, Takes
from tools.mandates.drafts import new_draft, owner_of
from tools.mandates.typed_fields import NOTE_MAX, Terms, applied, blank

if TYPE_CHECKING:
    from domain.mandates.purpose.draft import Draft

TermName = Literal[
    "budget_usdc", "per_tx_cap_usdc", "daily_cap_usdc", "stop_floor_bps", "horizon_days",
    "payout_rule", "approval_above_usdc", "on_floor", "target_bps", "markets", "allowed_targets",
]  # fmt: skip


class Note(Takes):
    """A purpose note in plain words."""

    note: Lines = Field(
        max_length=NOTE_MAX,
        description="what the money is for, how much, how long, in plain words",
        examples=["500 USDC for lending, at most 50 per trade, 30 days"],
    )
    save: bool = Field(default=False, description="store the draft; needs an owner session")


class FeeValue(Gives):
    """The agent's fee."""

    kind: str
    bps: int = Field(description="share of verified gain, in 1/10000")


class UnderstoodOut(Gives):
    """A term that a clause of the note states."""

    term: TermName
    value: str | int | FeeValue | list[str] | None
    text: str = Field(description="the clause's own words: the writer's, nobody has checked them")


class AssumedOut(Gives):
    """A term that the note does not state clearly, and the value it has meanwhile."""

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
    """A clause of which nothing was taken."""

    text: str = Field(description="the clause's own words: the writer's, nobody has checked them")
    why: str = Field(description="the service's own words")
    could_be: list[CouldBeOut]


class UnrelatedOut(Gives):
    """A clause with a figure that is about something else than the terms."""

    text: str = Field(description="the clause's own words: the writer's, nobody has checked them")


class DraftOut(Gives):
    """What a note was understood as; each figure of it is in one of the three lists."""

    draft: DraftAttributes
    clauses: list[Clause]
    exposure: Exposure
    understood: list[UnderstoodOut]
    assumed: list[AssumedOut]
    unclear: list[UnclearOut]
    unrelated: list[UnrelatedOut]
    needs_review: bool = Field(
        description="true where a clause is unclear: no terms are given for signing until the "
        "owner has PUT typed fields"
    )
    saved: bool
    public_id: str | None


@dataclass(frozen=True, slots=True)
class NoteFacts:
    """The note, read before the transaction."""

    read: Draft
    kept: bool | None


def _closed(config: Config, chain_id: int) -> dict[str, str]:
    """Why a market cannot be named in a draft on a chain, by market id."""
    markets, closed = from_config(config.markets), {}
    for market in markets:
        try:
            resolve([market.id], markets, chain_id)
        except Refused as no:
            closed[market.id] = no.refusal.fields[0]["msg"]
    return closed


async def read_note(deps: Deps, caller: Caller, asked: Note) -> NoteFacts:
    """Read the note in a thread: the loop is not held, whatever a stranger writes."""
    now, config = deps.clock.now(), deps.config
    chain_id = caller.chain_id or config.default_chain_id

    def read() -> Draft:
        # Its grammar takes a while to load, and most processes on an agent's machine read no note.
        from domain.mandates.purpose.draft import parse_note

        names = {x.id: x.name for x in from_config(config.markets)}
        return parse_note(asked.note, now=now, market_names=names, closed=_closed(config, chain_id))

    kept = await kept_for_drafts(deps, chain_id)
    return NoteFacts(await anyio.to_thread.run_sync(read), kept)


def draft(uow: UnitOfWork, ask: Ask[Note, NoteFacts]) -> Reply:
    """Answer with the draft of a note; store nothing unless an owner asks for it."""
    read = ask.facts.read
    terms = Terms.model_validate(dict(read.terms) | {"purpose": ask.asked.note})
    caller = ask.caller
    if ask.asked.save and caller.role == "nobody":
        raise Refused(refusal("unauthenticated", needs="an owner session, to save a draft"))
    if ask.asked.save and caller.role != "owner":
        raise Refused(refusal("forbidden", why="saving a draft needs an owner session"))
    if ask.asked.save:
        owner, review = owner_of(caller), read.needs_review
        m = new_draft(uow, ask, owner, terms, kept=ask.facts.kept, needs_review=review)
    else:
        m, own = blank(ask, "", "", "", terms), caller.chain_id
        m = applied(uow, ask, m, terms, kept=ask.facts.kept, own_chain=own)
    case = Case(m, EMPTY, ask.now, ask.config, ask.switches)
    told = {
        "draft": replace(m, needs_review=read.needs_review).draft_attributes(),
        "clauses": clauses(m, ask.switches, keeper_key=keeper_key(uow, ask, m)),
        "exposure": exposure(case),
        "understood": [{"term": u.term, "value": u.value, "text": u.text} for u in read.understood],
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


def _saved_once(caller: Caller, asked: Note) -> str | None:
    """The scope of the key of a draft that is stored."""
    return by_owner("drafts")(caller, asked) if asked.save and caller.role == "owner" else None


OPERATIONS: Final = (
    Operation(
        name="mandate_draft",
        title="Read a purpose note",
        summary="Turn a purpose note in plain words into a draft: what was understood, what was "
        "assumed, what is unclear. Stores nothing unless an owner saves it.",
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
        refusals=("unauthenticated", "forbidden"),
    ),
)
