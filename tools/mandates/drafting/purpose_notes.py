"""Purpose notes: parses a note in plain words into a draft."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeVar

from pydantic import Field

from domain.ledger.state.ledger_state import EMPTY
from domain.mandates.clauses import Clause
from domain.mandates.mandate import DraftAttributes, Mandate
from domain.mandates.markets import from_config
from domain.mandates.notes.draft import Draft, TermValue, Unclear, parse_note
from domain.mandates.targets import ShownTarget
from domain.money import Usdc
from domain.refusals import Refused, refusal
from domain.rules.exposure import Exposure, exposure
from domain.rules.snapshot import MandateSnapshot
from storage.repositories.people import User
from storage.unit_of_work import UnitOfWork
from tools.context.approval_keeping import draft_keeps_approvals
from tools.dispatch.idempotency import owner_scope
from tools.mandates.drafting.draft_fields import (
    NOTE_MAX,
    DraftTermsIn,
    TypedFields,
    clauses_now,
    draft_of,
    payout,
)
from tools.mandates.drafting.drafts import BAD_TERMS, new_draft, owner_of
from tools.model.fields import Lines
from tools.model.operation import (
    HEAVY,
    Caller,
    Deps,
    HandlerResult,
    Operation,
    RequestContext,
    RequestModel,
    ResponseModel,
)

TermName = Literal[
    "budget_usdc", "per_tx_cap_usdc", "daily_cap_usdc", "stop_floor_bps", "horizon_days",
    "payout_rule", "approval_above_usdc", "on_floor", "target_bps", "markets", "allowed_targets",
    "purse", "per_payment_usdc", "per_day_usdc", "float_usdc", "payees", "hosts",
]  # fmt: skip


class NotedTerms(TypedFields):
    """Typed fields beside a note: any of a create body. They win over what the note says."""

    budget_usdc: Usdc | None = None
    open_board: bool = Field(
        default=False, description="offer it to every agent; only where no agent is named"
    )


class Note(RequestModel):
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


class FeeValue(ResponseModel):
    """The agent's fee."""

    kind: str
    bps: int = Field(description="share of verified gain, in 1/10000")


class UnderstoodOut(ResponseModel):
    """A term that was typed, or that the note states."""

    term: TermName
    value: str | int | FeeValue | list[str] | list[ShownTarget] | None
    text: str | None = Field(
        description="the note's own words, which are the writer's, nobody has checked them; null "
        "of a term that was typed"
    )


class AssumedOut(ResponseModel):
    """A term that nothing in the note can concern, and the value it has."""

    term: TermName
    value: str | int | FeeValue | list[ShownTarget] | None
    why: str = Field(validation_alias="reason", description="the service's own words")


class CouldBeOut(ResponseModel):
    """One possible meaning of an unclear clause."""

    term: TermName
    value: str | int | FeeValue | list[str] | None = Field(
        description="null where the clause gives no value for it, or where null is the value"
    )


class UnclearOut(ResponseModel):
    """Words of which nothing was taken."""

    text: str = Field(description="the note's own words: the writer's, nobody has checked them")
    why: str = Field(validation_alias="reason", description="the service's own words")
    could_be: list[CouldBeOut]


class UnrelatedOut(ResponseModel):
    """A sentence without a figure or a word of the terms."""

    text: str = Field(description="the note's own words: the writer's, nobody has checked them")


class DraftOut(ResponseModel):
    """The terms that were read out of a note; a term that it leaves open is null in the draft, has
    no clause, and is listed in what is unclear.
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


Shown = TypeVar("Shown", bound=ResponseModel)


@dataclass(frozen=True, slots=True)
class NoteFacts:
    """The note, read before the transaction."""

    read: Draft
    vault_keeps_approvals: bool | None


_MONEY_AT_RISK: Final = frozenset(
    {"budget_usdc", "daily_cap_usdc", "stop_floor_bps", "purse", "float_usdc"}
)
_PAID: Final = frozenset({"per_payment_usdc", "per_day_usdc", "float_usdc"})
# Null says something of these; of the others that nothing was typed.
_MAY_BE_NULL: Final = frozenset({"approval_above_usdc", "target_bps"})


def _typed(terms: NotedTerms | None) -> dict[str, object]:
    """The fields that were typed, by name."""
    if terms is None:
        return {}
    values = {n: getattr(terms, n) for n in sorted(terms.model_fields_set)}
    typed = {n: v for n, v in values.items() if v is not None or n in _MAY_BE_NULL}
    if "payout_rule" in typed:
        kind, bps = payout(terms)
        typed["payout_rule"] = {"kind": kind, "bps": bps}
    return typed


@contextmanager
def _places_under_terms(request: Note) -> Iterator[None]:
    """Name the field of a refusal as the caller wrote it: what was typed stands under `terms`."""
    try:
        yield
    except Refused as refused:
        typed = request.terms.model_fields_set if request.terms else ()
        fields = refused.refusal.detail.get("fields")
        if refused.code != "invalid_request" or not isinstance(fields, list):
            raise
        placed = [
            f | {"loc": f"terms.{f['loc']}"} if f["loc"].split(".")[0] in typed else f
            for f in fields
        ]
        detail = {**refused.refusal.detail, "fields": placed}
        raise Refused(replace(refused.refusal, detail=detail)) from None


async def read_note(deps: Deps, caller: Caller, request: Note) -> NoteFacts:
    """Read the note beside its typed terms."""
    with _places_under_terms(request):
        typed = _typed(request.terms)
    chosen = request.terms.chain_id if request.terms else None
    chain_id = chosen or caller.chain_id or deps.config.default_chain_id
    markets = from_config(deps.config.markets)
    has_purses = chain_id in deps.chains.ids() and deps.chains.get(chain_id).plain_hub is not None
    read = parse_note(
        request.note,
        markets=markets,
        chain_id=chain_id,
        typed=typed,
        purses=deps.chains.address if has_purses else None,
    )
    return NoteFacts(read, await draft_keeps_approvals(deps, chain_id))


def _terms(request: Note, read: Draft) -> DraftTermsIn:
    """The create body: what was typed, what was read, and the preset in all that is open."""
    typed = _typed(request.terms)
    assumed = {a.term for a in read.assumed if a.term == "allowed_targets"}
    known = {n: v for n, v in read.terms.items() if n not in assumed}
    targets = {n: v for n, v in known.items() if n == "allowed_targets"}
    # What is typed of payments stands in the targets that were read beside it.
    known |= typed | targets
    caps = [known[n] for n in ("per_tx_cap_usdc", "daily_cap_usdc") if n in known]
    amounts = [cap if isinstance(cap, Usdc) else Usdc.parse(cap) for cap in caps]
    paid = [Usdc.parse(u.value) for u in read.understood if u.term in _PAID and u.value is not None]
    # Never shown where they are open; they only have to be no less than what is known.
    hidden: dict[str, object] = {"budget_usdc": max([Usdc.parse(500), *amounts, *paid])}
    if paid:
        hidden["daily_cap_usdc"] = known.get("budget_usdc", hidden["budget_usdc"])
        hidden["per_tx_cap_usdc"] = known.get("daily_cap_usdc", hidden["daily_cap_usdc"])
    return DraftTermsIn.model_validate(hidden | {"purpose": request.note} | known)


def draft(uow: UnitOfWork, ctx: RequestContext[Note, NoteFacts]) -> HandlerResult[DraftOut]:
    """Answer with the draft of a note; store nothing unless an owner asks for it."""
    with _places_under_terms(ctx.request):
        return HandlerResult(_drafted(uow, ctx), 201 if ctx.request.save else 200)


def _drafted(uow: UnitOfWork, ctx: RequestContext[Note, NoteFacts]) -> DraftOut:
    read, caller, save = ctx.facts.read, ctx.caller, ctx.request.save
    terms, unclear = _terms(ctx.request, read), read.left_open
    if save and caller.role == "nobody":
        raise Refused(refusal("unauthenticated", needs="an owner session, to save a draft"))
    if save and caller.role != "owner":
        raise Refused(refusal("forbidden", why="saving a draft needs an owner session"))
    keeps_approvals = ctx.facts.vault_keeps_approvals
    if save:
        mandate = new_draft(
            uow, ctx, owner_of(caller), terms, keeps_approvals, unclear_terms=unclear
        )
    else:
        owner = User("", "", caller.chain_id)
        mandate = draft_of(uow, ctx, "", owner, terms, vault_keeps_approvals=keeps_approvals)
        mandate = replace(mandate, needs_review=read.needs_review, unclear_terms=unclear)
    at_risk = MandateSnapshot(mandate, EMPTY, ctx.now, ctx.config, ctx.switches)
    return DraftOut(
        draft=mandate.draft_attributes(),
        clauses=clauses_now(uow, ctx, mandate),
        exposure=None if _MONEY_AT_RISK & set(unclear) else exposure(at_risk),
        understood=[
            _shown(UnderstoodOut, replace(u, value=_display_value(mandate, u.term, u.value)))
            for u in read.understood
        ],
        assumed=[_shown(AssumedOut, a) for a in read.assumed],
        unclear=[_shown(UnclearOut, u) for u in read.unclear],
        unrelated=[UnrelatedOut(text=text) for text in read.unrelated],
        needs_review=read.needs_review,
        saved=save,
        public_id=mandate.public_id or None,
    )


def _shown(model: type[Shown], value: TermValue | Unclear) -> Shown:
    """A reading, as it is shown."""
    return model.model_validate(value, from_attributes=True)


def _display_value(mandate: Mandate, term: str, value: object) -> object:
    """A value as it is told; calls with the labels of the service."""
    return [t.as_shown() for t in mandate.allowed_targets] if term == "allowed_targets" else value


def _saved_once(caller: Caller, request: Note) -> str | None:
    """The scope of the key of a draft that is stored."""
    return (
        owner_scope("drafts")(caller, request) if request.save and caller.role == "owner" else None
    )


OPERATIONS: Final = (
    Operation(
        name="mandate_draft",
        title="Read a purpose note",
        summary="Turn a purpose note, and typed terms beside it, into a draft: what was "
        "understood, assumed, unclear. Stores nothing unless an owner saves it.",
        auth="open",
        route=("POST", "/wallet/mandates/draft"),
        request_model=Note,
        response_model=DraftOut,
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
