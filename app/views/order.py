"""One order: its terms, its status, and the data to sign for it."""

from __future__ import annotations

from collections.abc import Mapping

from app.replies import Json, Record
from app.views.components import refusal
from app.views.orders import UNSIGNED, maker, order_title
from app.words.orders import MOVING, STATUS, TIFS
from app.words.text import _

CANCELS = frozenset({"prepared", "awaiting_owner", "awaiting_signature", "resting"})


def view(order: Json, names: Mapping[str, str]) -> Record:
    """`order` as it leaves the service; `names` of the owner's agents and paper books by id."""
    status = order["status"]
    pill, message = STATUS[status]
    if status == "executed" and order["partial"]:
        message = _("A part was traded; the rest was dropped.")
    return Record(
        order,
        title=order_title(order),
        pill=pill,
        message=message,
        # Without the time of the last look: it moves on each, and the page does not show it.
        venue=order["venue"] and Record(status=order["venue"]["status"]),
        moving=status in MOVING,
        tif_words=TIFS[order["tif"]],
        book_name=names.get(order["book"] or "", ""),
        agent=maker(order, names),
        opens=status in UNSIGNED,
        cancels=status in CANCELS,
        checks=None,
        signing=None,
        problem=None,
    )


def to_sign(view: Record, raw: Json, *, kind: str, step: str, venue: str, until: str) -> Record:
    """The order with what is to be signed for it; `until` is when that is over.

    `block` is read by the page's script, which takes nothing of it on trust; `step` is how the
    signature is handed in.
    """
    request = raw["to_sign"]
    signers = [*request["signer_must_be"], None, None]
    signing = Record(
        kind=kind,
        step=step,
        confirm_id=raw["confirm_id"],
        wallet=signers[0],
        key=signers[1],
        expires_at=until,
        venue=venue,
        block=request,
    )
    return Record(view, signing=signing, checks=raw["checks"])


def refused(view: Record, block: Json) -> Record:
    """The order after something was refused."""
    return Record(view, problem=refusal.view(block, None))
