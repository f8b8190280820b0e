"""A pending approval: the action, its limits and checks now, its simulation, the answer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from app.replies import Json
from app.views.components import asks, meters, refusal
from app.views.components.asks import AskView, CheckView
from app.views.components.meters import MeterView
from app.views.components.refusal import RefusalView
from app.words.text import _


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
    return tuple(
        CheckView(ok=c["ok"], text=_judged(c))
        for c in checks
        if c["code"] in CHECKS and not (c["ok"] and c["code"] in _QUIET)
    )


def _judged(check: Json) -> str:
    holds, fails = CHECKS[check["code"]]
    if check["ok"] is None:
        return _("Not checked, for the vault could not be read just now: {what}").format(what=holds)
    return holds if check["ok"] else fails


# What each check says where it holds, and where it does not.
CHECKS: Final[Mapping[str, tuple[str, str]]] = {
    "over_per_tx_cap": (
        _("Within the per-action limit (clause 2)"),
        _("Above the per-action limit (clause 2): the vault would refuse it"),
    ),
    "over_daily_cap": (
        _("Within what is left today (clause 3)"),
        _("More than is left today (clause 3): the vault would refuse it before 00:00 UTC"),
    ),
    "over_budget": (
        _("The vault has the cash for it"),
        _("The vault has not the cash for it"),
    ),
    "below_stop_line": (
        _("The mandate stands above its stop line (clause 4)"),
        _("The mandate stands below its stop line (clause 4)"),
    ),
    "target_not_allowed": (
        _("The call is on your list (clause 5)"),
        _("The call is not on your list (clause 5): the vault would refuse it"),
    ),
    "mandate_paused": (_("The agent is not paused"), _("The agent is paused")),
    "mandate_stopped": (_("The mandate is not stopped"), _("The mandate is stopped")),
    "mandate_ended": (_("Before the end date (clause 8)"), _("Past the end date (clause 8)")),
    "mandate_not_accepted": (
        _("The agent has accepted the mandate"),
        _("The agent has not accepted the mandate"),
    ),
}
# These are shown only where they fail: a working mandate needs no line about it.
_QUIET: Final = frozenset(
    {"mandate_paused", "mandate_stopped", "mandate_ended", "mandate_not_accepted"}
)


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
