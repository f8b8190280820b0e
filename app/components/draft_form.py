"""The form of a draft's terms: fields, the words they were read from, and what is still asked.

What was read stands beside its words, what was not read is empty and asked for, and what no word
concerns is a suggestion that says so. Drawn by `start.html`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from multidict import MultiDict

from app.components import shown
from app.replies import Json, Record
from app.words.money import percent, sentence_amount, typed
from app.words.text import _
from domain.money import Usdc
from domain.refusals import Refused

AMOUNTS: Final = ("budget_usdc", "per_tx_cap_usdc", "daily_cap_usdc", "approval_above_usdc")
# The fields of payments for web services, behind the parts of their entry.
PURSE_AMOUNTS: Final[Mapping[str, str]] = {
    "per_payment_usdc": "pay_each",
    "per_day_usdc": "pay_day",
    "float_usdc": "pay_float",
}
PURSE_FIELDS: Final[Mapping[str, str]] = {
    **PURSE_AMOUNTS,
    "payees": "pay_to",
    "hosts": "pay_hosts",
    "purse": "pays",
}
# The field of the form behind a term.
FIELDS: Final[Mapping[str, str]] = {
    **{name: name for name in (*AMOUNTS, "horizon_days", "on_floor")},
    "stop_floor_bps": "stop_floor",
    "payout_rule": "share",
    "allowed_targets": "market",
    "markets": "market",
    **PURSE_FIELDS,
}
# The fields that a person changes together.
_GROUPS: Final = (
    *((name,) for name in (*AMOUNTS[:3], "stop_floor", "horizon_days", "share", "on_floor")),
    ("ask", "approval_above_usdc"),
    ("market", *PURSE_FIELDS.values()),
    ("agent",),
)
# What an empty field of payments says where that is ticked beside it.
AS_IS: Final = "as_is"
LABELS: Final[Mapping[str, str]] = {
    "budget_usdc": _("Budget"),
    "per_tx_cap_usdc": _("Limit per action"),
    "daily_cap_usdc": _("Limit per day"),
    "stop_floor": _("Stop line, as a loss in percent"),
    "horizon_days": _("How long"),
    "share": _("Agent’s share"),
    "approval_above_usdc": _("What it may do without asking you"),
    "ask": _("What it may do without asking you"),
    "on_floor": _("At the stop line"),
    "market": _("Where it may act"),
    "agent_id": _("Who is to act"),
    "agent": _("Who is to act"),
    "note": _("What the money is for"),
    "pays": _("May pay for web services"),
    "pay_each": _("At most a payment"),
    "pay_day": _("At most a day"),
    "pay_float": _("At most at risk at once"),
    "pay_to": _("Only to these addresses"),
    "pay_hosts": _("Only at these sites"),
}
ASK_ABOVE: Final = "above"
ASK_NEVER: Final = "never"
PAID_READS: Final = "x402"
NO_MARKET: Final = "none"
MOST_PLACES: Final = 3
ON_FLOOR: Final[Mapping[str, str]] = {"keep": _("keep positions"), "close": _("close positions")}
_LEFT_OR_LOST: Final = _("the value that is left, or the most that may be lost?")
# Values that no button fills in.
_NO_ANSWER: Final = frozenset({"allowed_targets", "purse", "payees", "hosts"})
_WHICH: Final = _("which of these do you mean?")


def field_of(place: str) -> str:
    """The form's field of a place in a refused request: `terms.payout_rule.bps`."""
    name, *parts = place.removeprefix("terms.").split(".")
    if name == "allowed_targets":
        # The innermost part that has a field: `allowed_targets.1.purse.payees`.
        inner = (PURSE_FIELDS[part] for part in reversed(parts) if part in PURSE_FIELDS)
        return next(inner, FIELDS[name])
    return FIELDS.get(name, name)


def form_of(m: Json, note: Json | None, *, stored: bool) -> MultiDict[str]:
    """The form as a draft fills it; a term that is unclear is empty, and so is whether it asks
    where nobody has said so.
    """
    texts = {**{name: typed(m[name]) for name in AMOUNTS}, "on_floor": m["on_floor"] or ""}
    texts["stop_floor"] = _number(m["stop_floor_bps"])
    texts["share"] = _number(m["payout_rule"] and m["payout_rule"]["bps"])
    texts["horizon_days"] = "" if m["horizon_days"] is None else str(m["horizon_days"])
    missing = unclear_fields(m)
    form = MultiDict({n: "" if n in missing else text for n, text in texts.items()})
    chosen = () if "market" in missing else tuple(m["allowed_targets"] or ())
    named = dict.fromkeys(t["market"] for t in chosen if t.get("market"))
    paid = next((t for t in chosen if t["kind"] == PAID_READS), None)
    reads = [PAID_READS] * (paid is not None)
    read = read_payments(note) if note and "market" in missing else _purse_form(paid)
    form.extend(read)
    form.extend([("market", name) for name in (*named, *reads)])
    said = stored and m["proposed_by_agent_id"] is None
    said = said or "approval_above_usdc" in {u["term"] for u in (note or {}).get("understood", ())}
    if "approval_above_usdc" not in missing and (said or form["approval_above_usdc"]):
        form["ask"] = ASK_ABOVE if form["approval_above_usdc"] else ASK_NEVER
    form["agent"] = "board" if m["open_board"] else m["agent_id"] or ""
    return form


def stored_form(m: Json, note: Json | None) -> MultiDict[str]:
    """The form as the page of a stored draft shows it; `note` as in `view`."""
    form = form_of(m, None, stored=True)
    if note and "market" in unclear_fields(m):
        form.extend(read_payments(note))
    return form


def marks(form: MultiDict[str]) -> str:
    """Marks of the values that a form shows."""
    return shown.marks(_values(form))


def newest(form: MultiDict[str], stored: MultiDict[str]) -> MultiDict[str]:
    """A form that came back, with what was left as it was shown as the draft has it now."""
    kept = shown.untouched(_values(form), form.get("shown", ""))
    names = frozenset(name for group in _GROUPS if group[0] in kept for name in group)
    left = MultiDict((n, text) for n, text in form.items() if n not in names)
    left.extend((n, text) for n, text in stored.items() if n in names)
    return left


def _values(form: MultiDict[str]) -> dict[str, str]:
    """The fields of a form that say one thing together, as a text."""
    return {group[0]: " ".join(f"{n}={_sorted(form, n)}" for n in group) for group in _GROUPS}


def _sorted(form: MultiDict[str], name: str) -> str:
    return ",".join(sorted(" ".join(form.getall(name, [])).split()))


def read_payments(note: Json) -> dict[str, str]:
    """The fields of payments as a sentence fills them, whatever else it leaves open."""
    parts = {u["term"]: u["value"] for u in note["understood"] if u["term"] in PURSE_FIELDS}
    if "purse" not in parts:
        return {}
    purse = parts | {"payees": parts.get("payees") or ()}
    return _purse_form({"purse": purse, "hosts": parts.get("hosts")})


def _purse_form(paid: Json | None) -> dict[str, str]:
    """The fields of payments as an entry fills them; nothing of one without a purse."""
    purse = None if paid is None else paid.get("purse")
    if paid is None or purse is None:
        return {}
    amounts = {field: typed(purse.get(name)) for name, field in PURSE_AMOUNTS.items()}
    lists = {"pay_to": "\n".join(purse["payees"]), "pay_hosts": "\n".join(paid["hosts"] or ())}
    return {"pays": "1", **amounts, **lists}


def same_purse(m: Json, form: MultiDict[str]) -> bool:
    """True where the form says of payments what the draft says."""
    paid = next((t for t in m["allowed_targets"] or () if t["kind"] == PAID_READS), None)
    stored = _purse_form(paid)
    if not stored or "pays" not in form:
        return bool(stored) == ("pays" in form)
    return all(form.get(n, "").split() == stored[n].split() for n in PURSE_FIELDS.values())


def hub_of(targets: Iterable[Json]) -> str | None:
    """The contract that keeps the purse of some terms; its calls are part of the purse."""
    purses = (t.get("purse") for t in targets)
    return next((p["hub"] for p in purses if p is not None), None)


def _number(bps: int | None) -> str:
    return (percent(bps) or "").rstrip("%")


def unclear_fields(m: Json) -> frozenset[str]:
    """The fields of terms that the sentence leaves open."""
    return frozenset(FIELDS[term] for term in m["unclear_terms"] if term in FIELDS)


def open_fields(m: Json, form: MultiDict[str]) -> frozenset[str]:
    """The fields of unclear terms that are still empty, and not meant to be."""
    # Whether it asks is answered by a choice, which has a field beside it.
    empty = {
        n
        for n in unclear_fields(m)
        if not form.get("ask" if n == "approval_above_usdc" else n, "").strip()
    }
    if "pays" not in form:
        empty -= set(PURSE_FIELDS.values()) - {"pays"}
    return frozenset(empty - set(form.getall(AS_IS, [])))


def view(
    m: Json, note: Json | None, form: MultiDict[str], markets: Json, own: Json, hall: Json
) -> Record:
    """`m` are the draft's attributes, `note` the reply of mandate_draft over its purpose, `form`
    what stands in the fields now.
    """
    missing, chosen = open_fields(m, form), form.getall("market", [])
    reading = form_of(note["draft"], note, stored=False) if note else MultiDict[str]()
    same = {n for n in FIELDS.values() if _texts(form, n) == _texts(reading, n)}
    questions = tuple(_questions(note, form, missing, markets["items"])) if note else ()
    assumed = {
        FIELDS[a["term"]]: a["why"] for a in (note or {}).get("assumed", ()) if a["term"] in FIELDS
    }
    return Record(
        fields=Record((n, form.get(n, "")) for n in FIELDS.values()),
        as_is=frozenset(form.getall(AS_IS, [])),
        ask=form.get("ask", ""),
        missing=missing,
        words=Record(_words(note, same)) if note else Record(),
        suggested=frozenset(n for n in assumed if n in same and n != "approval_above_usdc"),
        no_market_why=assumed.get("market", "") if "market" in same else "",
        asks=Record((n, tuple(a for a in questions if a["place"] == n)) for n in LABELS),
        unread=tuple(a for a in questions if not a["place"]),
        unrelated=note["unrelated"] if note else (),
        nowhere=NO_MARKET in chosen,
        paid_reads=PAID_READS in chosen,
        markets=tuple(_markets(m, markets["items"], chosen)),
        agent=form.get("agent", ""),
        agents=tuple(_agents(m, own["items"], hall["items"], form.get("agent"))),
        more_agents=any(page.get("next_cursor") for page in (own, hall)),
    )


def _texts(form: MultiDict[str], name: str) -> list[list[str]]:
    """The texts of a field, whatever their line ends."""
    return [text.split() for text in form.getall(name, [])]


def _words(note: Json, same: set[str]) -> Iterator[tuple[str, str]]:
    """The words that a field was read from, while it says what they say."""
    for row in note["understood"]:
        if row["text"] is not None and FIELDS.get(row["term"]) in same:
            yield FIELDS[row["term"]], row["text"]


def _questions(
    note: Json, form: MultiDict[str], missing: frozenset[str], markets: Sequence[Json]
) -> Iterator[Record]:
    """Unread words that an empty field still needs; each at one field, or at none where they may be
    about many.
    """
    names = {r["id"]: r["name"] for r in markets}
    for row in note["unclear"]:
        about = [FIELDS[c["term"]] for c in row["could_be"] if c["term"] in FIELDS]
        options = (_answer(c, form, names) for c in row["could_be"])
        answers = tuple(dict.fromkeys(o for o in options if o is not None))
        if missing.isdisjoint(about) or any(_stands(o, form) for o in answers):
            continue
        few = len(set(about)) <= MOST_PLACES
        place = next((n for n in LABELS if few and n in missing and n in about), "")
        which = ""
        if len(answers) > 1:
            lost = {o["field"] for o in answers} == {"stop_floor"}
            which = _LEFT_OR_LOST if lost else _WHICH
        yield Record(text=row["text"], why=row["why"], place=place, which=which, answers=answers)


def _stands(answer: Json, form: MultiDict[str]) -> bool:
    """True where the form says this already."""
    return ",".join(form.getall(answer["field"], [])) == str(answer["value"])


def _answer(could: Json, form: MultiDict[str], names: Mapping[str, str]) -> Record | None:
    """One meaning of unread words as the button that fills its field; None without a value."""
    term, value = could["term"], could["value"]
    field = FIELDS.get(term)
    if field is None or value is None or term in _NO_ANSWER:
        return None
    label = LABELS[field]
    if term == "stop_floor_bps":
        text, says = _number(value), _loss(value, form.get("budget_usdc", ""))
        return Record(field=field, value=text, label=says)
    if term == "markets":
        listed = _(" and ").join(names.get(i, i) for i in value)
        return Record(field=field, value=",".join(value), label=listed)
    if term == "on_floor":
        return Record(field=field, value=value, label=f"{label}: {ON_FLOOR[value]}")
    if term == "horizon_days":
        return Record(field=field, value=str(value), label=_("{days} days").format(days=value))
    if term == "payout_rule":
        return Record(
            field=field, value=_number(value["bps"]), label=f"{label}: {percent(value['bps'])}"
        )
    if term == "approval_above_usdc":
        label = _("Ask me above")
    return Record(field=field, value=typed(value), label=f"{label}: {sentence_amount(value)}")


def _loss(bps: int, budget: str) -> str:
    """A stop line in words; with the amount where the budget is known."""
    try:
        whole = Usdc.parse(budget)
    except Refused:
        return _("Lose at most {share}").format(share=percent(bps))
    line = sentence_amount(str(whole - whole.share_up(bps)))
    return _("Lose at most {share}: stop at {line}").format(share=percent(bps), line=line)


def _markets(m: Json, markets: Sequence[Json], chosen: Sequence[str]) -> Iterator[Record]:
    """The markets to choose from: those on the draft's network, and those that it names."""
    for row in markets:
        open_here = row["status"] != "planned" and row["chain_id"] in (None, m["chain_id"])
        if row["id"] in chosen or (open_here and row["kind"] != "x402"):
            yield Record(row, chosen=row["id"] in chosen)


def _agents(
    m: Json, own: Sequence[Json], hall: Sequence[Json], chosen: str | None
) -> Iterator[Record]:
    """The agents to choose from, by the names that people gave them."""
    rows = {r["agent_id"]: (r["name"], _("yours")) for r in own if r["accepts_mandates"]}
    for row in hall:
        rows.setdefault(row["agent_id"], (row["name"], _("from the Hall")))
    if m["agent_id"] is not None:
        rows.setdefault(m["agent_id"], (m["agent_name"] or "", _("named in this draft")))
    for agent_id, (name, note) in rows.items():
        yield Record(agent_id=agent_id, name=name, note=note, chosen=agent_id == chosen)
