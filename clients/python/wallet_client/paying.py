"""Paid requests: a 402 of x402 is paid out of a mandate, and asked again."""

from __future__ import annotations

import base64
import json
import secrets  # noqa: TID251 - a program of its own has no ports
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import aiohttp
import yarl

from wallet_client import models
from wallet_client.client import WalletClient

Sign = Callable[[Mapping[str, Any]], Awaitable[str]]
"""Signs EIP-712 typed data with the agent's key: 65 bytes, 0x hex."""

REQUIRED, SIGNATURE = "PAYMENT-REQUIRED", "PAYMENT-SIGNATURE"
USDC = Decimal(1_000_000)
MOST_OF_402 = 65_536
"""Bytes of a 402, and of one of its headers; the wallet takes 16 KiB of it."""


class AnswerTooLong(Exception):
    """The seller's answer is longer than `max_bytes`. What was paid is asked for again with the
    same `idempotency_key`.
    """


class NotPaid(Exception):
    """The 402 is not paid; the sentence says why. `approval_url` where the owner has to decide."""

    def __init__(self, why: str, approval_url: str | None = None):
        super().__init__(why)
        self.approval_url = approval_url


@dataclass(frozen=True)
class Fetched:
    """An answer, and the payment that it took; None where none was asked for.

    `headers` are found by their names in any case, `PAYMENT-RESPONSE` among them.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    payment: models.PayOut | None


async def fetch_with_mandate(
    wallet: WalletClient,
    url: str,
    *,
    public_id: str,
    max_amount: str,
    why: str,
    sign: Sign | None = None,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    data: bytes | None = None,
    idempotency_key: str | None = None,
    tries: int = 3,
    timeout_s: float = 60,
    max_bytes: int = 16_777_216,
) -> Fetched:
    """Send a request, and pay for it once where it is answered with 402.

    `max_amount` in USDC bounds the payment. Give `idempotency_key` to go on after a break of this
    program: the same key is the same bill. The paid request is sent up to `tries` times where no
    answer comes whole within `timeout_s`, always with the same payment, which USDC takes once. No
    redirect is followed: it is the answer.
    Errors: `NotPaid`, `Refused` by the wallet, `AnswerTooLong`, `aiohttp.ClientError` or
    `TimeoutError` where no answer came.
    """
    key = idempotency_key or f"fetch-{secrets.token_hex(16)}"
    own = dict(headers or {})
    timeout = aiohttp.ClientTimeout(total=timeout_s)
    async with aiohttp.ClientSession(timeout=timeout, max_field_size=MOST_OF_402) as http:

        async def send(more: Mapping[str, str]) -> Fetched:
            async with http.request(
                method, url, headers=own | dict(more), data=data, allow_redirects=False
            ) as reply:
                is_asking = reply.status == 402 and not more
                body = await _body(reply, MOST_OF_402 if is_asking else max_bytes)
                if body is None and is_asking:
                    raise NotPaid("the 402 is too long")
                if body is None:
                    raise AnswerTooLong(f"the answer is longer than {max_bytes} bytes")
                return Fetched(reply.status, reply.headers, body, None)

        first = await send({})
        if first.status != 402:
            return first
        required = _required(first, url)
        paid = await _paid(wallet, required, public_id, max_amount, why, sign, key)
        for left in reversed(range(tries)):
            try:
                answer = await send({SIGNATURE: paid.header or ""})
                return Fetched(answer.status, answer.headers, answer.body, paid)
            except (aiohttp.ClientError, TimeoutError):
                if not left:
                    raise
    raise ValueError("tries is at least 1")


async def _body(reply: aiohttp.ClientResponse, most: int) -> bytes | None:
    """The body of an answer; None for one that is longer than `most`, of which no more is read."""
    body = bytearray()
    async for chunk in reply.content.iter_any():
        body += chunk
        if len(body) > most:
            return None
    return bytes(body)


def _place(url: str) -> tuple[str | None, int | None]:
    """Host and port of a URL; the port of its scheme is none. Errors: ValueError."""
    at = yarl.URL(url)
    return at.raw_host, None if at.is_default_port() else at.port


def _required(answer: Fetched, url: str) -> dict[str, Any]:
    """The seller's request, which has to be of the host that was asked."""
    named = answer.headers.get(REQUIRED)
    try:
        raw = base64.b64decode(named, validate=True) if named else answer.body
        required: Any = json.loads(raw)
        at = _place(str(required["resource"]["url"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise NotPaid("the 402 is none of x402 version 2") from None
    if at[0] is None or at != _place(url):
        raise NotPaid("the 402 asks to pay for another host")
    return dict(required)


async def _paid(
    wallet: WalletClient,
    required: dict[str, Any],
    public_id: str,
    max_amount: str,
    why: str,
    sign: Sign | None,
    key: str,
) -> models.PayOut:
    """The payment: signed where the wallet asks for it, after the bill was looked at."""

    async def ask(signature: str | None) -> models.PayOut:
        return await wallet.mandate_pay(
            public_id=public_id,
            payment_required=required,
            max_amount=max_amount,
            why=why,
            signature=signature,
            idempotency_key=key,
        )

    made = await ask(None)
    if made.status == "pending_approval":
        raise NotPaid("the owner has to approve the payment", made.approval_url)
    if made.header is not None:
        return made
    if sign is None or made.typed_data is None:
        raise NotPaid("the bill has to be signed, and no `sign` was given")
    document = made.typed_data.model_dump(by_alias=True, mode="json")
    message = document["message"]
    payees = {str(offer.get("payTo")).lower() for offer in required["accepts"]}
    if str(message["to"]).lower() not in payees:
        raise NotPaid("the bill pays somebody else")
    if Decimal(message["value"]) / USDC > Decimal(max_amount):
        raise NotPaid("the bill is above max_amount")
    return await ask(await sign(document))
