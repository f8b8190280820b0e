"""A facilitator of x402 for one chain: it verifies payments, and settles them at its own gas.

The routes are those of the specification: POST /verify, POST /settle, GET /supported.
"""

from __future__ import annotations

import argparse
import logging
import os
import socket
from typing import Any

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
from x402 import x402FacilitatorSync
from x402.mechanisms.evm import FacilitatorWeb3Signer
from x402.mechanisms.evm.exact import register_exact_evm_facilitator
from x402.schemas import PaymentPayload, PaymentRequirements


class Asked(BaseModel):
    """A payment, and what the seller asks for."""

    paymentPayload: PaymentPayload  # noqa: N815 - the names of x402
    paymentRequirements: PaymentRequirements  # noqa: N815


def facilitator(rpc_url: str, private_key: str) -> FastAPI:
    """The application; its key pays the gas of the chain behind `rpc_url`."""
    signer = FacilitatorWeb3Signer(private_key, rpc_url)
    inner = x402FacilitatorSync()
    register_exact_evm_facilitator(inner, signer, f"eip155:{signer.get_chain_id()}")
    app = FastAPI()

    # Plain functions run in threads: the signer waits for the chain.
    @app.post("/verify")
    def verify(asked: Asked) -> dict[str, Any]:
        told = inner.verify(asked.paymentPayload, asked.paymentRequirements)
        return told.model_dump(by_alias=True, exclude_none=True)

    @app.post("/settle")
    def settle(asked: Asked) -> dict[str, Any]:
        told = inner.settle(asked.paymentPayload, asked.paymentRequirements)
        return told.model_dump(by_alias=True, exclude_none=True)

    @app.get("/supported")
    def supported() -> dict[str, Any]:
        return inner.get_supported().model_dump(by_alias=True, exclude_none=True)

    return app


def serve(app: FastAPI, port: int) -> None:
    """Serve on this machine alone, after a line that says where; port 0 is a free one."""
    with socket.create_server(("127.0.0.1", port)) as sock:
        print(f"http://127.0.0.1:{sock.getsockname()[1]}", flush=True)
        config = uvicorn.Config(app, log_level="warning", lifespan="off")
        uvicorn.Server(config).run(sockets=[sock])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rpc-url", required=True)
    parser.add_argument("--port", type=int, default=4022)
    given = parser.parse_args()
    logging.getLogger("x402").setLevel(logging.ERROR)  # a refusal is told to its seller
    serve(facilitator(given.rpc_url, os.environ["FACILITATOR_KEY"]), given.port)
