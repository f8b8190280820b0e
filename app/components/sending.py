"""A transaction that the owner's wallet is asked for; drawn by `macros/sending.html`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from app.replies import Json, Record, thaw
from app.words import reverts
from app.words.text import _

STEPS: Final[Mapping[str, str]] = {
    "fund": "deposit",
    "unwind": "unwound",
    "record": "mark",
    "void": "purse_voided",
    "drain": "purse_drained",
    "sweep": "purse_drained",
}
"""The step of the record that shows an action as done."""
CALL_FIELDS: Final = ("chain_id", "to", "data", "value", "from", "step")


def tried(simulation: Json | None) -> Record:
    """The outcome of trying a call at the newest block, in a sentence; `ok` is None where the chain
    gave no answer.
    """
    if simulation is None:
        text = _(
            "The transaction could not be tried out just now. Wait a moment, then open this page "
            "again."
        )
        return Record(ok=None, text=text, error="")
    if simulation["ok"]:
        if simulation["gas"] is None:
            return Record(ok=True, text=_("Tried out just now: it works."), error="")
        text = _("Tried out just now: it works, about {gas} gas.")
        return Record(ok=True, text=text.format(gas=f"{simulation['gas']:,}"), error="")
    revert = simulation["revert"]
    text = _("This would fail now: {why}. Sending it would only cost gas.")
    return Record(
        ok=False, text=text.format(why=reverts.reason(revert)), error=reverts.error_name(revert)
    )


def _call(raw: Json) -> Record:
    """One call as the service decodes it; the browser decodes it once more."""
    decoded, call = raw["decoded"] or {}, raw["call"]
    return Record(
        to=call["to"],
        function=decoded.get("function") or decoded.get("selector") or "",
        args=tuple(str(thaw(a)) for a in decoded.get("args") or ()),
        data=call["data"],
    )


def newest(kind: str, steps: Sequence[Json]) -> str:
    """A mark that tells the newest deposit, exit or record of a vault from the next one; empty
    where there is none yet, and for actions that the mandate itself shows.
    """
    code = STEPS.get(kind)
    hashes = (str(s["tx_hash"])[2:12] for s in steps if s["code"] == code and s["tx_hash"])
    return next(hashes, "")


def view(
    kind: str,
    public_id: str,
    responses: Sequence[Json],
    *,
    button: str,
    steps: Sequence[Json],
    look: str = "go",
    amount: str | None = None,
    outcome: Json | None = None,
    capabilities: Json | None = None,
) -> Record:
    """`responses`: one `{call, decoded, simulation}` a call, in the order of sending; `steps` of
    the mandate, newest first; `amount`: the {amount} of `button`, in USDC; `capabilities` of
    sponsorship, for a wallet that batches both calls (EIP-5792).
    """
    return Record(
        purpose=f"{kind}.{newest(kind, steps)}" if kind in STEPS else kind,
        post=f"/app/mandates/{public_id}/sent",
        button=button,
        amount=amount,
        look=look,
        calls=tuple(map(_call, responses)),
        block=tuple({n: t["call"][n] for n in CALL_FIELDS if n in t["call"]} for t in responses),
        tried=outcome or tried(responses[0]["simulation"]),
        capabilities=capabilities,
    )
