"""The next step of a mandate: who has to do what; drawn by `macros/next.html`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from app.replies import Json, Record
from app.words import money
from app.words.text import _
from app.words.untrusted_text import agent_of

PAUSED: Final = _("The agent is paused. It can do nothing until you resume it.")
NOTHING: Final = _("You have nothing to do.")
SETTLING: Final = _(
    "The vault is settled; its figures follow once the network has confirmed the transaction."
)
DUST: Final = 10_000  # micro-USDC: what is worth less is not worth its gas
ACCEPT: Final = _(
    "Please accept mandate {id}: call the tool mandate_accept with public_id {id} "
    "(POST {base}/wallet/mandates/{id}/accept). How to start: {base}/wallet/skill.md"
)


class _Step(NamedTuple):
    """`text` goes on from the agent's name where `of_agent`; `page` is the one that takes the step,
    `button` its name; `owner`: true where the owner has to answer.
    """

    text: str
    page: str = ""
    button: str = ""
    owner: bool = False
    of_agent: bool = False
    waits: bool = False


def draft_page(mandate: Json) -> str:
    """The page on which a draft continues: terms that are unclear, or name no agent, cannot be
    signed.
    """
    unnamed = mandate["agent_id"] is None and not mandate["open_board"]
    if unnamed or mandate["needs_review"]:
        return f"/app/start/{mandate['public_id']}"
    return f"/app/mandates/{mandate['public_id']}/review"


def view(row: Json, pending: int, base_url: str = "") -> Record:
    """`row`: the attributes of a mandate and its progress; `pending`: its actions that need an
    approval. `paste` is a text for the agent where it has still to accept.
    """
    mandate = row["mandate"]
    step = _step(row, pending)
    href = f"/app/mandates/{mandate['public_id']}"
    if mandate["status"] == "draft":
        href = draft_page(mandate)
    elif step.page:
        href += step.page if step.page.startswith("#") else f"/{step.page}"
    paste = ACCEPT.format(id=mandate["public_id"], base=base_url) if step.waits and base_url else ""
    return Record(
        step._asdict(),
        agent=agent_of(mandate),
        href=href if step.button else "",
        paste=paste,
    )


def _step(row: Json, pending: int) -> _Step:
    mandate, progress = row["mandate"], row["progress"]
    status = progress["status"]
    if status == "draft":
        return _of_draft(mandate)
    if status == "signed":
        if mandate["vault_address"] is None:
            text = _("You signed the terms. Create the vault next: without it no money can move.")
            return _Step(text, "create", _("Create vault"), owner=True)
        text = _(
            "Nothing is deposited yet. Deposit USDC next: until then the agent can do nothing."
        )
        return _Step(text, "fund", _("Deposit USDC"), owner=True)
    if status == "working":
        return _of_active(row, pending)
    if status in ("ended", "stopped"):
        return _of_closed(mandate, progress, is_stopped=status == "stopped")
    if status == "settled":
        return _of_settled(row)
    return _Step(_("You cancelled this mandate. You have nothing to do."))


def _of_settled(row: Json) -> _Step:
    progress = row["progress"]
    if is_settling(row):
        return _Step(f"{_(SETTLING)} {NOTHING}")
    if money.micros_of(progress["cash"]) > 0:
        text = _("The result is final, and {amount} is still in your vault. Withdraw it next.")
        amount = money.sentence_amount(progress["cash"])
        return _Step(text.format(amount=amount), "withdraw", _("Withdraw all"), owner=True)
    if has_positions(progress):
        text = _("The cash was paid out. What is still in a market stays yours: close it next.")
        return _Step(text, "leave", _("Close positions"), owner=True)
    if money.micros_of((row.get("x402") or row).get("in_purse")) >= DUST:
        text = _("The result is final. Bring the money in the purse back next.")
        return _Step(text, "leave", _("Empty the purse"), owner=True)
    return _Step(_("The result is final and everything is paid out. You have nothing to do."))


def _of_draft(mandate: Json) -> _Step:
    if mandate["needs_review"]:
        text = _("Part of the description was not understood. Fill in the missing terms next.")
        return _Step(text, "start", _("Fill in terms"))
    if mandate["agent_id"] is None and not mandate["open_board"]:
        return _Step(
            _("This draft names no agent yet. Choose an agent next."), "start", _("Choose agent")
        )
    if mandate["proposed_by_agent_id"] is not None:
        text = _("Your agent proposes these terms. Review them, then sign or discard them.")
        return _Step(text, "review", _("Review terms"))
    text = _("Review the terms, then sign them. Until then no money can move.")
    return _Step(text, "review", _("Review terms"))


def is_settling(row: Json) -> bool:
    """True where the chain has the settlement and the record does not yet: its cash is an older
    figure.
    """
    return bool(row["mandate"]["status"] == "settled" and row["mandate"]["provisional"])


def has_positions(progress: Json) -> bool:
    """True where the vault is known to hold more than cash, dust aside."""
    worth, cash = (money.micros_of(progress[n]) for n in ("worth_est", "cash"))
    return worth - cash >= DUST


def _of_active(row: Json, pending: int) -> _Step:
    mandate = row["mandate"]
    if mandate["agent_id"] is None:
        # A vault of open terms is without an agent, and so paused, until one accepts.
        text = _("No agent has accepted this mandate yet. Any agent of the open board may.")
        return _Step(f"{text} {NOTHING}", waits=True)
    if pending:
        text = _("An action needs your approval. Until you answer, the agent waits with it.")
        if pending > 1:
            text = _("{count} actions need your approval. Until you answer, the agent waits.")
        if mandate["paused"]:
            text = f"{_(PAUSED)} {_('Actions that need your approval: {count}.')}"
        return _Step(text.format(count=pending), "#waiting", _("Answer agent"), owner=True)
    if mandate["paused"]:
        return _Step(_(PAUSED), "resume", _("Resume agent"))
    if mandate["accepted_at"] is None:
        text = _("has not accepted yet, and can do nothing until then. Send this to the agent:")
        return _Step(text, of_agent=True, waits=True)
    limits = row.get("limits")
    possible = row["possible_now"] if limits is None else limits["remaining"]["value"]
    if money.micros_of(possible) <= 0:
        text = _("can take nothing out of the vault now, and can only close positions.")
        return _Step(f"{text} {NOTHING}", of_agent=True)
    return _Step(_("may act within your limits. You have nothing to do."), of_agent=True)


def _of_closed(mandate: Json, progress: Json, *, is_stopped: bool) -> _Step:
    state = _("The mandate is stopped.") if is_stopped else _("The mandate has ended.")
    if mandate["status"] == "signed":
        return _Step(f"{state} {_('Nothing was deposited.')} {NOTHING}")
    if progress["worth_est"] is None:
        text = _("Take what is in the vault out next.")
        return _Step(f"{state} {text}", "leave", _("Close and withdraw"), owner=True)
    if has_positions(progress):
        text = _("Close the open positions next, then withdraw.")
        return _Step(f"{state} {text}", "leave", _("Close positions"), owner=True)
    if money.micros_of(progress["cash"]):
        text = _("Withdraw your money next.")
        return _Step(f"{state} {text}", "withdraw", _("Withdraw all"), owner=True)
    return _Step(f"{state} {_('The vault is empty.')} {NOTHING}")


def for_owner(rows: Json) -> Iterator[Record]:
    """The steps that mandates of a list need their owner for, apart from approvals."""
    for row in rows["items"]:
        step = view(row, 0)
        if step["owner"]:
            yield step
