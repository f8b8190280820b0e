"""A new mandate: from a sentence to terms, their form, and the agent that is to act.

Nothing is stored before "Keep as draft": what is typed travels with the form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from aiohttp import web
from multidict import MultiDict

from app.components import draft_form, refusal
from app.components.draft_form import (
    ASK_ABOVE,
    ASK_NEVER,
    LABELS,
    NO_MARKET,
    PAID_READS,
    PURSE_AMOUNTS,
    PURSE_FIELDS,
    hub_of,
)
from app.page_context import OperationRefused, PageRequest, PageRoute, whole_number
from app.pages.way_out import left_by_agent
from app.replies import Json, Record
from app.words.policy import read_percent
from app.words.text import _
from domain.refusals import Refused, invalid

CAPS: Final = ("budget_usdc", "per_tx_cap_usdc", "daily_cap_usdc")
NEEDED: Final = (*CAPS, "stop_floor", "horizon_days", "share", "on_floor")
DEFAULT_READS: Final[Mapping[str, object]] = {"kind": PAID_READS, "hosts": []}
SIGN: Final = "review"
KEEPS: Final = ("stay", SIGN)
Terms = dict[str, object]


async def show_start(visit: PageRequest) -> web.Response:
    """The sentence; with `form` the form without one."""
    agent = visit.query("agent") or ""
    if visit.query("form") is not None:
        return await _show_terms(visit, "", agent=agent)
    return _show_sentence(visit, agent=agent)


def _show_sentence(
    visit: PageRequest, refused: OperationRefused | None = None, *, note: str = "", agent: str
) -> web.Response:
    """The first page: a sentence; `agent`: whom it is for, where that is known already."""
    problem = refusal.view(refused and refused.block)
    view = Record(step="sentence", public_id=None, note=note, agent=agent, problem=problem)
    return visit.show("start.html", view, refused=refused)


async def _show_terms(
    visit: PageRequest,
    note: str,
    *,
    agent: str = "",
    form: MultiDict[str] | None = None,
    refused: OperationRefused | None = None,
) -> web.Response:
    """The terms as the sentence says them, or as the form does; stored nowhere."""
    reading = await visit.run("mandate_draft", note=note)
    shown = reading
    if form is not None and refused is None:
        try:
            open_now = draft_form.open_fields(reading["draft"], form)
            terms = _typed_terms(form, open_now)
            shown = await visit.run("mandate_draft", note=note, terms=terms)
        except (OperationRefused, Refused) as wrong:
            refused = _as_refused(visit, wrong)
    filled = form
    if filled is None:
        filled = draft_form.form_of(reading["draft"], reading, stored=False)
        filled["agent"] = agent
    view = await _view(visit, reading["draft"], reading, filled, refused)
    shows = refused is None
    view = Record(
        view,
        public_id=None,
        note=note,
        clauses=_chosen(shown["clauses"], view["ask"]) if shows else (),
        exposure=shown["exposure"] if shows else None,
    )
    return visit.show("start.html", view, refused=refused)


def _chosen(clauses: Iterable[Json], ask: str) -> tuple[Json, ...]:
    """The clauses, without the one about asking while its owner has not chosen."""
    return tuple(c for c in clauses if c["key"] != "asking" or ask)


async def show_draft(visit: PageRequest) -> web.Response:
    """The stored terms of a draft."""
    return await _show_draft(visit, visit.path_part("id"))


async def show_unsignable(visit: PageRequest, refused: OperationRefused) -> web.Response:
    """The stored terms, with what keeps them from being signed. Errors: any other refusal."""
    if refused.code not in ("invalid_request", "draft_unclear"):
        raise refused
    return await _show_draft(visit, visit.path_part("id"), refused=refused)


async def _reading(visit: PageRequest, m: Json) -> Record | None:
    """The reading of a draft's sentence; None without one."""
    return await visit.run("mandate_draft", note=m["purpose"]) if m["purpose"] else None


async def _show_draft(
    visit: PageRequest,
    draft: str,
    form: MultiDict[str] | None = None,
    refused: OperationRefused | None = None,
) -> web.Response:
    read = await visit.run("mandate_get", public_id=draft)
    m = read["mandate"]
    if m["status"] != "draft":
        return visit.go(f"/app/mandates/{draft}")
    note = await _reading(visit, m)
    filled = draft_form.stored_form(m, note) if form is None else form
    view = Record(
        await _view(visit, m, note, filled, refused),
        shown=draft_form.marks(filled) if form is None else form.get("shown", ""),
        public_id=m["public_id"],
        note=m["purpose"],
        clauses=read["clauses"],
        exposure=None if m["needs_review"] else read["exposure"],
    )
    return visit.show("start.html", view, refused=refused, chain_id=m["chain_id"])


async def _view(
    visit: PageRequest,
    m: Json,
    note: Json | None,
    form: MultiDict[str],
    refused: OperationRefused | None,
) -> Record:
    """The form of the terms, and what was refused of it by the labels of its fields."""
    markets = await visit.run("markets_list")
    own = await visit.run("owner_agents", limit=200)
    hall = await visit.run("hall_list", accepting=True)
    problem, wrong = refusal.view(refused and refused.block, m["public_id"]), frozenset[str]()
    if problem is not None:
        fields = tuple((draft_form.field_of(loc), msg) for loc, msg in problem["fields"])
        wrong = frozenset(name for name, _msg in fields)
        labelled = tuple((str(LABELS.get(name, name)), msg) for name, msg in fields)
        problem = Record(problem, fields=labelled)
    view = draft_form.view(m, note, form, markets, own, hall)
    others = _other_calls(m["allowed_targets"] or ()) if m["public_id"] else []
    return Record(
        view,
        step="terms",
        problem=problem,
        wrong=wrong,
        other_calls=len(others),
        keeps_others="terms" not in form or form.get("others") == "keep",
        can_pay="pays" in form or visit.has_purses(m["chain_id"]),
        left_by_agent=left_by_agent(others, markets),
    )


def _as_refused(visit: PageRequest, wrong: OperationRefused | Refused) -> OperationRefused:
    if isinstance(wrong, OperationRefused):
        return wrong
    return OperationRefused(400, wrong.refusal.as_json(visit.caller.role))


def _other_calls(targets: Iterable[Json]) -> list[Json]:
    """The calls that belong to no market of this service, and not to the purse."""
    listed = list(targets)
    hub = hub_of(listed)
    named = (t for t in listed if t["kind"] in ("contract", "venue") and not t.get("market"))
    return [t for t in named if hub is None or t.get("address") != hub]


def _answered(form: MultiDict[str]) -> MultiDict[str]:
    """The form with the answer whose button was pressed, in its field."""
    filled = MultiDict(form)
    if not filled.get("ask") and filled.get("approval_above_usdc", "").strip():
        filled["ask"] = ASK_ABOVE
    name, _equals, value = filled.pop("set", "").partition("=")
    if name == "market":
        filled.popall(name, None)
        filled.extend([(name, market) for market in value.split(",")])
    elif name in PURSE_AMOUNTS.values():
        filled[name] = value
        filled["pays"] = "1"
    elif name in NEEDED or name == "approval_above_usdc":
        filled[name] = value
        if name == "approval_above_usdc":
            filled["ask"] = ASK_ABOVE
    return filled


def _bps(form: MultiDict[str], name: str) -> int:
    """A percentage of the form in ten-thousandths. Errors: `invalid_request`."""
    bps = read_percent(form[name].strip())
    if bps is None or bps > 10_000:
        raise invalid(name, _("a percentage from 0 to 100 with at most two decimals"))
    return bps


def _typed_terms(form: MultiDict[str], open_now: frozenset[str] = frozenset()) -> Terms:
    """The fields that are filled in, as an operation takes them; without those of payments that
    are open.

    Errors: `invalid_request`.
    """
    filled = {n for n in NEEDED if form.get(n, "").strip()}
    terms: Terms = {n: form[n].strip() for n in (*CAPS, "on_floor") if n in filled}
    if "stop_floor" in filled:
        terms["stop_floor_bps"] = _bps(form, "stop_floor")
    if "share" in filled:
        terms["payout_rule"] = {"bps": _bps(form, "share")}
    if "horizon_days" in filled:
        days = whole_number(form["horizon_days"].strip(), 5)
        if days is None:
            raise invalid("horizon_days", _("a whole number of days"))
        terms["horizon_days"] = days
    ask, above = form.get("ask"), form.get("approval_above_usdc", "").strip()
    if ask == ASK_ABOVE and not above:
        raise invalid("approval_above_usdc", _("the amount above which you are asked"))
    if ask in (ASK_ABOVE, ASK_NEVER):
        terms["approval_above_usdc"] = above if ask == ASK_ABOVE else None
    agent = form.get("agent", "").strip()
    if agent == "board":
        terms["open_board"] = True
    elif agent:
        terms["agent_id"] = agent
    return terms | _chosen_markets(form, open_now)


def _chosen_markets(form: MultiDict[str], open_now: frozenset[str]) -> Terms:
    """The places of a form: the vault, and each that is ticked."""
    chosen = form.getall("market", [])
    if not chosen and "places" in form and "pays" not in form:
        return {}
    targets: list[Mapping[str, object]] = [{"kind": "vault"}]
    targets += _paid(form, open_now) or [DEFAULT_READS] * (PAID_READS in chosen)
    ids = [name for name in chosen if name not in (PAID_READS, NO_MARKET)]
    return {"allowed_targets": targets} | ({"markets": ids} if ids else {})


def _paid(
    form: MultiDict[str], open_now: frozenset[str] = frozenset()
) -> list[Mapping[str, object]]:
    """The entry of payments for web services; what stands empty is as the mandate says, and what is
    open is left out.

    Errors: `invalid_request` for limits of payments that are not allowed.
    """
    if "pays" not in form:
        if any(form.get(name, "").strip() for name in PURSE_FIELDS.values()):
            raise invalid("pays", _("tick this, or empty the fields below it"))
        return []
    typed = {name: form.get(field, "").strip() for name, field in PURSE_AMOUNTS.items()}
    payees, hosts = (form.get(n, "").replace(",", " ").split() for n in ("pay_to", "pay_hosts"))
    parts = {**{name: text or None for name, text in typed.items()}, "payees": payees}
    purse = {n: v for n, v in parts.items() if PURSE_FIELDS[n] not in open_now}
    places = {} if "pay_hosts" in open_now else {"hosts": hosts}
    return [{"kind": PAID_READS, **places, "purse": purse}]


def _check_whole(
    form: MultiDict[str], still_open: frozenset[str], open_now: frozenset[str], *, sign: bool
) -> None:
    """Hold a form that is kept, or signed, to what a person has to say; `still_open` may stay so in
    a draft that is kept.

    Errors: `invalid_request`, which names all that is missing.
    """
    missing = list[tuple[str, str]]()
    has_chosen = form.get("ask") in (ASK_ABOVE, ASK_NEVER)
    if not has_chosen and (sign or "approval_above_usdc" not in still_open):
        missing.append(("ask", _("choose whether it asks you, and above which amount")))
    for name in (*NEEDED, "market"):
        is_empty = not form.get(name, "").strip()
        is_empty &= name != "market" or ("places" in form and "pays" not in form)
        if is_empty and (sign or name not in still_open):
            missing.append((name, _("fill this in")))
    for name in PURSE_FIELDS.values():
        if name in open_now and (sign or name == "pays" or name not in still_open):
            missing.append((name, _("fill this in, or tick what stands below it")))
    if sign and not form.get("agent", "").strip():
        missing.append(("agent", _("choose who is to act")))
    if missing:
        raise invalid(*missing[0], *missing[1:])


def _note(visit: PageRequest) -> str:
    """The sentence, with the line ends that it was typed with."""
    return (visit.field("note") or "").replace("\r\n", "\n")


async def change_terms(visit: PageRequest) -> web.Response:
    """Read the sentence, or show the form as it was changed; stored where it is to be kept."""
    note, agent = _note(visit), visit.field("agent") or ""
    if "terms" not in visit.form:
        try:
            return await _show_terms(visit, note, agent=agent)
        except OperationRefused as refused:
            return _show_sentence(visit, refused, note=note, agent=agent)
    form, then = _answered(visit.form), visit.field("then")
    if then not in KEEPS:
        return await _show_terms(visit, note, form=form)
    try:
        reading = await visit.run("mandate_draft", note=note)
        still_open = draft_form.unclear_fields(reading["draft"])
        open_now = draft_form.open_fields(reading["draft"], form)
        _check_whole(form, still_open, open_now, sign=then == SIGN)
        terms = _typed_terms(form, open_now)
        kept = await visit.run_once("mandate_draft", note=note, terms=terms, save=True)
    except (OperationRefused, Refused) as wrong:
        return await _show_terms(visit, note, form=form, refused=_as_refused(visit, wrong))
    draft = kept["public_id"]
    review = then == SIGN and not kept["needs_review"]
    return visit.go(f"/app/mandates/{draft}/review" if review else f"/app/start/{draft}")


async def store_draft(visit: PageRequest) -> web.Response:
    """Keep the fields as the stored draft's terms; then on to the review where that is asked."""
    draft, form, then = visit.path_part("id"), _answered(visit.form), visit.field("then")
    if then not in KEEPS:
        return await _show_draft(visit, draft, form)
    read = await visit.run("mandate_get", public_id=draft)
    reading = await _reading(visit, read["mandate"])
    typed, form = form, draft_form.newest(form, draft_form.stored_form(read["mandate"], reading))
    try:
        open_now = draft_form.open_fields(read["mandate"], form)
        _check_whole(form, frozenset(), open_now, sign=then == SIGN)
        terms = _typed_terms(form) | _kept_targets(form, read["mandate"])
        kept = {n: read["mandate"][n] for n in ("purpose", "target_bps", "chain_id")}
        await visit.run("owner_mandate_correct", public_id=draft, **kept, **terms)
    except (OperationRefused, Refused) as wrong:
        return await _show_draft(visit, draft, typed, _as_refused(visit, wrong))
    return visit.go(f"/app/mandates/{draft}/review" if then == SIGN else f"/app/start/{draft}")


def _kept_targets(form: MultiDict[str], m: Json) -> Terms:
    """The targets of a stored draft: as they are where the form says the same, else as it says."""
    chosen = {name for name in form.getall("market", []) if name != NO_MARKET}
    targets, keeps_others = m["allowed_targets"], form.get("others") == "keep"
    reads = [t for t in targets if t["kind"] == PAID_READS]
    current = {t["market"] for t in targets if t.get("market")}
    current |= {PAID_READS} if reads else set()
    paid, others = _paid(form), _other_calls(targets)
    if paid:
        chosen.add(PAID_READS)
    same = chosen == current and draft_form.same_purse(m, form)
    if same and (keeps_others or not others):
        return {"allowed_targets": targets, "markets": None}
    kept = [t for t in targets if t["kind"] == "vault"] + (others if keeps_others else [])
    # What was read without a purse keeps its hosts; payments are as the form says.
    plain = [t for t in reads if t.get("purse") is None] or [DEFAULT_READS]
    kept += paid or (plain if PAID_READS in chosen else [])
    return {"allowed_targets": kept, "markets": sorted(chosen - {PAID_READS}) or None}


PAGES: Final = (
    PageRoute("GET", "/app/start", show_start),
    PageRoute("POST", "/app/start", change_terms),
    PageRoute("GET", "/app/start/{id}", show_draft),
    PageRoute("POST", "/app/start/{id}", store_draft),
)
