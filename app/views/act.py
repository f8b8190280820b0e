"""One action of the owner on a vault, on a page of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from app.replies import Json, Record
from app.views.components import refusal, sending
from app.views.components.recorded import RecordedValueView
from app.views.components.recorded import view as of_record
from app.views.components.refusal import RefusalView
from app.views.components.sending import SendingView
from app.words.status import Pill, pill
from app.words.text import _
from app.words.untrusted_text import agent_of
from domain.money import Usdc


@dataclass(frozen=True, slots=True, kw_only=True)
class ActWordsView:
    """The texts of an action's page."""

    title: str
    text: str
    points: tuple[str, ...]
    button: str
    look: str = "go"


ACTS: Final[Mapping[str, ActWordsView]] = {
    "pause": ActWordsView(
        title=_("Pause"),
        text=_(
            "The agent can no longer act until you resume. Money and positions stay as they are."
        ),
        points=(_("You can resume at any time, with one more transaction."),),
        button=_("Pause with my wallet"),
    ),
    "resume": ActWordsView(
        title=_("Resume"),
        text=_("The agent of the signed terms may act again, inside the same limits."),
        points=(),
        button=_("Resume with my wallet"),
    ),
    "stop": ActWordsView(
        title=_("Stop for good"),
        text=_(
            "The agent’s authority ends and does not come back. This does not sell open positions."
        ),
        points=(
            _("If you only want a break, pause instead."),
            _("A new start needs new terms, a new signature and a new vault."),
        ),
        button=_("Stop for good with my wallet"),
        look="danger",
    ),
    "record": ActWordsView(
        title=_("Record value"),
        text=_(
            "Your vault records what its open positions are worth now. From then on it judges the "
            "agent’s exits by that value."
        ),
        points=(
            _("It stops nothing, sells nothing and moves no money."),
            _("Wait if the price looks wrong: a lower value allows cheaper exits."),
        ),
        button=_("Record value with my wallet"),
    ),
    "withdraw": ActWordsView(
        title=_("Withdraw everything"),
        text=_(
            "One transaction: stops and settles first where that has not happened, then pays "
            "everything but the agent’s earned share to you."
        ),
        points=(_("The mandate is over after this."),),
        button=_("Withdraw with my wallet"),
    ),
    "unwind": ActWordsView(
        title=_("Close a position"),
        text=_(
            "Your vault calls the market’s exit. What comes back stays in the vault until you "
            "withdraw."
        ),
        points=(_("No USDC may leave the vault in this transaction; the vault sees to that."),),
        button=_("Close it with my wallet"),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitView:
    """The call of an unwind: where the vault calls, and with what."""

    target: str
    data: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionPageView:
    """The page; `sending` is None where the service refuses to prepare the call. `already`: what
    the record says is done; who sees something else on the chain may still send it.
    """

    public_id: str
    kind: str
    texts: ActWordsView
    agent_name: Record
    pill: Pill
    vault: str | None
    agent: str | None
    before_pause: str | None
    already: str
    pays: str | None
    agent_fee: str | None
    record: RecordedValueView | None
    worth: str | None
    cash: str | None
    positions: str | None
    exit: ExitView | None
    sending: SendingView | None
    closes: bool
    problem: RefusalView | None


def _resumed(name: str | None, raw: Json | None) -> str | None:
    """The agent of the terms; where they name none, the one that accepted them."""
    if name is None or raw is None or name.strip("0x"):
        return name
    return str(raw["decoded"]["args"][0])


def _already(kind: str, read: Json) -> str:
    m, cash = read["mandate"], read["progress"]["cash"]
    if kind == "pause" and m["paused"]:
        return _("It is paused already. Sending it once more changes nothing.")
    if (
        kind == "withdraw"
        and m["status"] == "settled"
        and cash is not None
        and not Usdc.parse(cash).micros
    ):
        return _("Everything was paid out already. Sending it once more moves nothing.")
    return ""


def view(
    kind: str,
    read: Json,
    raw: Json | None,
    refused: Json | None = None,
    *,
    name: str | None = None,
    exit: ExitView | None = None,
) -> ActionPageView:
    """`raw` of the action's call operation, or the block of its refusal; `name` is the agent of
    the signed terms, for its resumption.
    """
    m, p, texts = read["mandate"], read["progress"], ACTS[kind]
    public_id = m["public_id"]
    pays = (raw or {}).get("pays") or {}
    return ActionPageView(
        public_id=public_id,
        kind=kind,
        texts=texts,
        agent_name=agent_of(m),
        pill=pill(m, p),
        vault=m["vault_address"],
        agent=_resumed(name, raw),
        before_pause=read["exposure"]["before_pause"] if kind == "pause" else None,
        already=_already(kind, read),
        pays=pays.get("owner"),
        agent_fee=pays.get("agent_fee"),
        worth=p["worth_est"],
        cash=p["cash"],
        positions=p["positions_est"],
        record=of_record(read) if kind == "record" else None,
        exit=exit,
        sending=None
        if raw is None
        else sending.view(
            kind, public_id, [raw], button=texts.button, look=texts.look, steps=read["steps"]
        ),
        closes=refused is not None and refused["error"] == "withdraw_locked",
        problem=None if refused is None else refusal.view(refused, public_id),
    )
