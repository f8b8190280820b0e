"""Orders and cancellations: their actions, bytes to sign, and parsed answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgpack
import orjson
from pydantic import ValidationError

from domain.trading.orders import CancelAction, Envelope, OrderAction, Tif
from domain.trading.venue_values import Network, Placed, ToSign
from venue import actions, signing
from venue.json_readers import Price, Size, Tally, VenueJson, Whole
from venue.words import kind_of, parse_answer, readable

_TIFS: Final[Mapping[Tif, actions.Tif]] = {"ioc": "Ioc", "gtc": "Gtc", "alo": "Alo"}
_UNKNOWN: Final = Placed(outcome="unknown")


def action_of(action: OrderAction | CancelAction) -> actions.Ordering:
    """The action in the venue's form and key order. Errors: ValueError, see `wire`."""
    if isinstance(action, CancelAction):
        return actions.cancel_by_cloid([(action.asset_id, action.cloid)])
    order = actions.order(
        asset=action.asset_id,
        is_buy=action.is_buy,
        price=action.limit_px,
        size=action.size,
        reduce_only=action.reduce_only,
        tif=_TIFS[action.tif],
        cloid=action.cloid,
    )
    return actions.place([order], builder=action.builder)


def hash_of(action: OrderAction | CancelAction, envelope: Envelope) -> bytes:
    """Hash of the action, over which the signature is made."""
    return signing.action_hash(
        action_of(action), envelope.nonce, expires_after=envelope.expires_after
    )


def to_sign(
    network: Network, order_action: OrderAction | CancelAction, envelope: Envelope
) -> ToSign:
    """An action in every form that a signer may check."""
    action, hashed = action_of(order_action), hash_of(order_action, envelope)
    return ToSign(
        action_json=orjson.dumps(action).decode(),
        action_msgpack="0x" + msgpack.packb(action).hex(),
        action_hash="0x" + hashed.hex(),
        typed_data=signing.l1_typed_data(network, hashed),
    )


def enveloped(
    action: OrderAction | CancelAction, envelope: Envelope, signature: signing.Signature
) -> dict[str, object]:
    """The body of `/exchange`."""
    return {
        "action": action_of(action),
        "nonce": envelope.nonce,
        "signature": signature.as_json(),
        "expiresAfter": envelope.expires_after,
    }


class _RestingJson(VenueJson):
    oid: Whole


class _FilledJson(_RestingJson):
    total_sz: Size
    avg_px: Price


def placed(raw: bytes | None) -> Placed:
    """Parse the venue's answer; an unknown form is `unknown`, never a success.

    The refusal of a used nonce means that these very bytes, or others of this signer, have arrived
    already: the order's outcome is then requested by its own id.
    """
    response = None if raw is None else parse_answer(raw)
    if isinstance(response, str):
        return _refused(response)
    data = None if response is None else response.get("data")
    statuses = data.get("statuses") if isinstance(data, dict) else None
    if response is None or not isinstance(statuses, list) or len(statuses) != 1:
        return _UNKNOWN
    if response.get("type") == "cancel":
        return _cancelled(statuses[0])
    return _status(statuses[0]) if response.get("type") == "order" else _UNKNOWN


def _refused(sentence: str) -> Placed:
    kind = kind_of(sentence)
    if kind == "duplicate_nonce":
        return Placed(outcome="unknown", kind=kind)
    return Placed(outcome="refused", words=readable(sentence), kind=kind)


def _cancelled(status: object) -> Placed:
    if status == "success":
        return Placed(outcome="done")
    error = status.get("error") if isinstance(status, dict) else None
    return _refused(error) if isinstance(error, str) else _UNKNOWN


def _status(status: object) -> Placed:
    if not isinstance(status, dict) or len(status) != 1:
        return _UNKNOWN
    ((name, raw),) = status.items()
    if name == "error" and isinstance(raw, str):
        return _refused(raw)
    try:
        if name == "resting":
            order = _RestingJson.model_validate(raw, context=Tally())
            return Placed(outcome="resting", oid=order.oid)
        if name == "filled":
            fill = _FilledJson.model_validate(raw, context=Tally())
            return Placed(outcome="filled", oid=fill.oid, size=fill.total_sz, avg_px=fill.avg_px)
    except ValidationError:
        pass  # nothing of it can be taken
    return _UNKNOWN
