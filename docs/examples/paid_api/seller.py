"""A web service that is paid a request: x402's own middleware in front of two reports.

It starts the facilitator beside it, which settles on the chain before an answer goes out. An answer
that was paid for is kept with its payment: who lost it sends the same payment again.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import subprocess
import sys
from collections import OrderedDict, defaultdict
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from facilitator import serve
from fastapi import FastAPI, Request, Response
from x402 import x402ResourceServer
from x402.http import FacilitatorConfig, HTTPFacilitatorClient
from x402.http.middleware.fastapi import payment_middleware
from x402.http.types import PaymentOption, RouteConfig
from x402.mechanisms.evm.exact import register_exact_evm_server
from x402.schemas import AssetAmount

PRICES = {"/report": 250_000, "/archive": 15_000_000, "/library": 60_000_000}
"""In the token's units: 0.25, 15 and 60 USDC."""
KEPT = 1_000
Next = Callable[[Request], Awaitable[Response]]


def seller(facilitator_url: str, chain_id: int, usdc: str, pay_to: str) -> FastAPI:
    """The application, whose prices are of `PRICES`."""
    network = f"eip155:{chain_id}"
    server = x402ResourceServer(HTTPFacilitatorClient(FacilitatorConfig(url=facilitator_url)))
    register_exact_evm_server(server, network)

    def route(amount: int) -> RouteConfig:
        price = AssetAmount(amount=str(amount), asset=usdc, extra={"name": "USDC", "version": "2"})
        option = PaymentOption(scheme="exact", pay_to=pay_to, price=price, network=network)
        return RouteConfig(accepts=option, description="A report", mime_type="application/json")

    app = FastAPI()
    app.middleware("http")(
        payment_middleware({f"GET {path}": route(units) for path, units in PRICES.items()}, server)
    )
    app.middleware("http")(keeping())  # the later one is the outer one

    async def report() -> dict[str, Any]:
        return {"report": "rain until noon"}

    for path in PRICES:
        app.get(path)(report)
    return app


def keeping() -> Callable[[Request, Next], Awaitable[Response]]:
    """A middleware that answers a payment for the second time as it did for the first.

    USDC takes a payment once, so the facilitator refuses it afterwards.
    """
    kept: OrderedDict[tuple[str, str], Response] = OrderedDict()
    at_work: defaultdict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)

    async def keep(request: Request, follow: Next) -> Response:
        payment = request.headers.get("payment-signature")
        if payment is None:
            return await follow(request)
        key = request.url.path, payment
        async with at_work[key]:
            if key not in kept:
                answer = await follow(request)
                body = b"".join([chunk async for chunk in answer.body_iterator])
                whole = Response(body, answer.status_code, dict(answer.headers))
                if whole.status_code != 200:
                    at_work.pop(key, None)
                    return whole
                kept[key] = whole
                if len(kept) > KEPT:
                    at_work.pop(kept.popitem(last=False)[0], None)
            return kept[key]

    return keep


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rpc-url", required=True)
    parser.add_argument("--chain-id", type=int, default=31337)
    parser.add_argument("--usdc", required=True, help="the token's address")
    parser.add_argument("--pay-to", required=True, help="who is paid")
    parser.add_argument("--port", type=int, default=4021)
    given = parser.parse_args()
    beside = Path(__file__).with_name("facilitator.py")
    command = [sys.executable, str(beside), "--rpc-url", given.rpc_url, "--port", "0"]
    # The server raises the signal again once it has closed: the facilitator then ends too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as settling:  # noqa: S603 - its own file
        try:
            where = settling.stdout.readline().strip()
            serve(seller(where, given.chain_id, given.usdc, given.pay_to), given.port)
        finally:
            settling.terminate()
