"""The purse of a mandate, out of which the agent pays for web services; drawn by
`macros/purse.html`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from app.components import meters
from app.replies import Json, Record, pick
from app.words import money, times
from app.words.text import _

SHOWN: Final = 5
# An agent can have hundreds of open payments.
BILLS_SHOWN: Final = 20
# What becomes of the money in a purse, by where its mandate stands.
LEFT_INSIDE: Final[Mapping[str, str]] = {
    "working": _(
        "While the mandate is active, only the agent can put this money back into the vault. You "
        "can ask it to, pause it, or end the mandate: what is left then comes back to you."
    ),
    "paused": _(
        "While the agent is paused, nothing can be paid out of the purse, and the money stays "
        "there. After you resume, the agent can put it back; if you end the mandate, what is left "
        "comes back to you."
    ),
    "closed": _(
        "Nothing can be paid out of the purse any more. What is left goes back into the vault "
        "before the result is fixed, or to your wallet afterwards."
    ),
    "settled": _(
        "Nothing can be paid out of the purse any more. What is left is yours, and can go nowhere "
        "but to your wallet."
    ),
}
WALLETS: Final[Mapping[str, str]] = {
    "owner": _("your own wallet"),
    "agent": _("the agent’s own wallet"),
}
ASK_BACK: Final = _(
    "Please put what is in the purse of mandate {id} back into the vault: call the tool "
    "mandate_act with public_id {id} and the action of kind drain."
)


def view(read: Json, now: datetime) -> Record | None:
    """The purse of a mandate read; None where its terms have none, or nothing is signed yet."""
    purse = read.get("x402")
    if purse is None:
        return None
    mandate = read["mandate"]
    stands = _stands(read)
    open_bills = purse["open_bills"] if stands in ("working", "paused") else ()
    sites = _sites(read["payments"])
    inside = money.micros_of(purse["in_purse"]) if purse["in_purse"] else None
    return Record(
        pick(purse, "purse", "in_purse", "float", "per_payment", "paid_today", "paid_ever"),
        public_id=mandate["public_id"],
        today=meters.view(
            _("Paid today"),
            purse["paid_today"],
            purse["per_day"],
            _("resets at 00:00 UTC"),
            reserved=money.sum_of(b["amount_usdc"] for b in open_bills),
        ),
        payees=tuple(Record(address=a, sites=sites.get(a, "")) for a in purse["payees"]),
        bills=tuple(_bill(b, now) for b in open_bills[:BILLS_SHOWN]),
        others=len(open_bills[BILLS_SHOWN:]),
        others_usdc=money.sum_of(b["amount_usdc"] for b in open_bills[BILLS_SHOWN:]),
        payments=tuple(map(_payment, read["payments"][:SHOWN])),
        more=purse["payments"] > SHOWN,
        left=LEFT_INSIDE[stands] if inside != 0 else "",
        ask=ASK_BACK.format(id=mandate["public_id"]) if inside and stands == "working" else "",
        voids=bool(stands in ("working", "paused") and purse["opened"] and inside != 0),
        pauses=stands == "working",
        ends=stands not in ("working", "paused"),
    )


def _stands(read: Json) -> str:
    status = read["progress"]["status"]
    if status in ("ended", "stopped"):
        return "closed"
    if status != "settled":
        return "paused" if read["mandate"]["paused"] else "working"
    return "settled"


def _sites(payments: Iterable[Json]) -> Mapping[str, str]:
    """The sites of which it is known that a payee was paid there, as the agent told them."""
    hosts: dict[str, list[str]] = {}
    for p in payments:
        if p["host"] and p["host"] not in hosts.setdefault(p["pay_to"], []):
            hosts[p["pay_to"]].append(p["host"])
    return {payee: ", ".join(names) for payee, names in hosts.items()}


def _bill(bill: Json, now: datetime) -> Record:
    until = bill["valid_before"]
    picked = pick(bill, "bill_id", "host", "pay_to", "amount_usdc", "valid_before")
    return Record(picked, ends=times.distance(until, now))


def _payment(payment: Json) -> Record:
    picked = pick(payment, "at", "amount_usdc", "pay_to", "tx_hash", "host")
    return Record(picked, whose=WALLETS.get(payment["whose"] or "", ""))
