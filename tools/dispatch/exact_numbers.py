"""Exact numbers: amounts keep the digits that were sent; other JSON is parsed as usual."""

from __future__ import annotations

import json
from decimal import Decimal

from tools.model.operation import RequestModel


def rounded(request: RequestModel) -> RequestModel:
    """The input with what is no amount as any reader of JSON has it."""
    values = vars(request).items()
    shapeless = {n: v for n, v in values if isinstance(v, (dict, list, Decimal))}
    return (
        request.model_copy(update={n: plain(v) for n, v in shapeless.items()})
        if shapeless
        else request
    )


def plain(value: object) -> object:
    """JSON values whose numbers are doubles."""
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    return json.loads(str(value)) if isinstance(value, Decimal) else value


def hashable(value: object) -> object:
    """The canonical form of a number that JSON does not have: one number has one form, however
    many zeros it was written with, and what no double holds is a text.
    """
    if not isinstance(value, Decimal):
        return str(value)
    raw = plain(value)
    return raw if Decimal(repr(raw)) == value else str(value)
