"""Signing request of an order, and the confirmation id that must come with its signature."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace
from datetime import datetime
from typing import Final

from domain.ports import Ids
from domain.trading.orders import LATE, Envelope, Order
from domain.trading.venue_account import milliseconds
from storage.unit_of_work import UnitOfWork

_BITS: Final = 128


def confirm_id(ids: Ids) -> str:
    """`c_` and 128 random bits."""
    drawn = ids.nonce256() % 2**_BITS
    return "c_" + base64.b32encode(drawn.to_bytes(16, "big")).decode().rstrip("=").lower()


def confirm_hash(text: str) -> str:
    """The stored form of a confirm id."""
    return hashlib.sha256(text.encode()).hexdigest()


def new_cloid(ids: Ids) -> str:
    """An id for the venue: 16 random bytes, stored before anything is sent, which cannot be
    guessed.
    """
    return f"0x{ids.nonce256() % 2**_BITS:032x}"


def signable(
    uow: UnitOfWork, order: Order, ids: Ids, now: datetime, until: datetime
) -> tuple[Order, str]:
    """The order with fresh bytes to sign, and the id that the signature has to name. One that is
    priced anew keeps its nonce: the venue lets one of its pricings act.
    """
    confirm = confirm_id(ids)
    signer = f"{order.network}:{(order.wallet or '').lower()}"
    nonce = (
        uow.signer_nonces.next(signer, milliseconds(now))
        if order.envelope is None
        else order.envelope.nonce
    )
    envelope = Envelope(nonce=nonce, expires_after=milliseconds(until))
    after = replace(
        order,
        envelope=envelope,
        confirm_hash=confirm_hash(confirm),
        expires_at=until,
        next_check_at=until + LATE,
    )
    return after, confirm
