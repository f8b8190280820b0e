"""A pending approval: the action, its limits and checks now, its simulation, the answer."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from app.replies import Json
from app.views.components import asks, meters, refusal
from app.views.components.asks import AskView, CheckView
from app.views.components.meters import MeterView
from app.views.components.refusal import RefusalView
from app.words.text import _
from domain.rules.rule import MandateRule
from domain.rules.rule_table import BY_REFUSAL


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalView:
    """The page; `sign` is what the wallet is to sign, where the vault keeps approvals."""

    public_id: str
    item: AskView
    function: str
    args: tuple[str, ...]
    tried: CheckView
    today: MeterView
    action: MeterView
    remaining_after: str | None
    problem: RefusalView | None = None
    note: str = ""
    sign: Json | None = None
    digest: str = ""


def _tried(simulation: Json | None) -> CheckView:
    if simulation is None:
        return CheckView(ok=None, text=_("It could not be tried out just now."))
    if simulation["ok"]:
        gas = f"{simulation['gas']:,}" if simulation["gas"] else _("some")
        text = _("Tried out just now: it works, about {gas} gas, which the agent pays.")
        return CheckView(ok=True, text=text.format(gas=gas))
    revert = simulation["revert"]
    text = _("This would fail now: the contract answers {name}.")
    name = revert["name"] if revert and revert.get("name") else _("with a refusal")
    return CheckView(ok=False, text=text.format(name=name))


def _fresh(checks: Iterable[Json]) -> tuple[CheckView, ...]:
    """The checks as they stand now; the owner's own answer is not one of them."""
    judged = ((c["ok"], BY_REFUSAL.get(c["code"])) for c in checks)
    return tuple(
        CheckView(ok=ok, text=_judged(ok, rule))
        for ok, rule in judged
        if rule is not None and not (ok and rule.quiet)
    )


def _judged(ok: bool | None, rule: MandateRule) -> str:
    if ok is None:
        text = _("Not checked, for the vault could not be read just now: {what}")
        return text.format(what=_(rule.holds))
    return _(rule.holds if ok else rule.fails)


def view(fresh: Json, read: Json, now: datetime) -> ApprovalView:
    """`fresh` of mandate_approval; `read`: mandate, limits and clauses of its mandate."""
    item, limits = fresh["approval"], read["limits"]
    item_view, call = asks.view(item, read, now), fresh["decoded"]["call"]
    allowed, used, amount = limits["allowed"], limits["used"], item["approve_amount_usdc"]
    remaining_after = fresh["remaining_after"]
    checks = _fresh(fresh["checks"])
    return ApprovalView(
        public_id=read["mandate"]["public_id"],
        item=replace(item_view, checks=checks or item_view.checks),
        function=call["function"] or call["selector"] or "",
        args=tuple(_argument(a) for a in call["args"] or ()),
        tried=_tried(fresh["simulation"]),
        today=meters.view(
            _("Used today"),
            used["per_day"]["value"],
            allowed["per_day"]["value"],
            _("resets at 00:00 UTC"),
            reserved=used["per_day"]["reserved"],
        ),
        action=meters.view(
            _("This action, of the per-action limit"),
            amount,
            allowed["per_action"]["value"],
            _("clause 2, held by the vault"),
            warns=False,
        ),
        remaining_after=None if remaining_after is None else remaining_after["value"],
    )


def _argument(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def with_refusal(view: ApprovalView, block: Json, *, note: str) -> ApprovalView:
    """The page after a decision that did not go through: its refusal, or the data to sign."""
    if block["error"] == "signature_needed":
        detail = block["detail"]
        return replace(view, sign=detail["typed_data"], digest=detail["digest"], note=note)
    return replace(view, problem=refusal.view(block, view.public_id), note=note)
