"""Pays with the official Python client of x402, in an environment of its own (locks/x402.txt).

Its transport asks, pays and asks again; the payment itself comes from `mandate_pay`. Prints what was told.
"""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from typing import Any

import httpx
from eth_account import Account
from x402 import x402Client
from x402.http.clients.httpx import x402AsyncTransport
from x402.schemas import PaymentPayload, PaymentRequired


class MandateClient(x402Client):
    """Payments out of a mandate: the wallet makes the bill, the agent's key signs it."""

    def __init__(self, service: str, key: str, mandate: str, secret: str):
        super().__init__()
        self._route, self._key, self._secret = (
            f"{service}/wallet/mandates/{mandate}/pay",
            key,
            secret,
        )

    async def create_payment_payload(
        self, payment_required: PaymentRequired, *_: Any
    ) -> PaymentPayload:
        raw = payment_required.model_dump(by_alias=True, exclude_none=True, mode="json")
        wanted = {"payment_required": raw, "max_amount": "1", "why": "the forecast"}
        headers = {"X-Service-User-Key": self._key}
        async with httpx.AsyncClient(headers=headers, timeout=60) as http:
            made = (await http.post(self._route, json=wanted)).raise_for_status().json()
            signed = Account.sign_typed_data(self._secret, full_message=made["typed_data"])
            wanted["signature"] = "0x" + bytes(signed.signature).hex()
            told = (await http.post(self._route, json=wanted)).raise_for_status().json()
        return PaymentPayload.model_validate(told["payment_payload"])


async def main(service: str, key: str, mandate: str, secret: str, url: str) -> None:
    transport = x402AsyncTransport(MandateClient(service, key, mandate, secret))
    async with httpx.AsyncClient(transport=transport, timeout=60) as http:
        answer = await http.get(url)
    told = json.loads(base64.b64decode(answer.headers["PAYMENT-RESPONSE"]))
    print(json.dumps({"status": answer.status_code, "body": answer.json(), "told": told}))


asyncio.run(main(*sys.argv[1:]))
