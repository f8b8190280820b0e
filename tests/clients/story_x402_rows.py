"""Makes payments of a purse with the official Python client of x402, and asks the official Python facilitator for them.

Reads one question a line and answers one: `pay` makes a payment by a name, for which it asks for the signature of its message;
`verify` and `settle` tell what the facilitator says of it. In an environment of its own (locks/x402.txt).
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

from x402 import x402Client, x402FacilitatorSync
from x402.mechanisms.evm import FacilitatorWeb3Signer
from x402.mechanisms.evm.exact import ExactEvmClientScheme, register_exact_evm_facilitator
from x402.mechanisms.evm.types import ExactEIP3009Authorization, ExactEIP3009Payload
from x402.schemas import PaymentPayload, PaymentRequired, PaymentRequirements


def told(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


class PurseSigner:
    """The purse is the payer; its bytes are asked for."""

    def __init__(self, address: str):
        self.address = address

    def sign_typed_data(self, domain: Any, types: Any, primary_type: str, message: Any) -> bytes:
        plain = {n: v.hex() if isinstance(v, bytes) else str(v) for n, v in message.items()}
        told({"sign": plain})
        return bytes.fromhex(sys.stdin.readline().strip())


class PurseScheme(ExactEvmClientScheme):
    """The official scheme, with the nonce and the hour that a purse takes where they are given."""

    def __init__(self, signer: PurseSigner):
        super().__init__(signer)
        self.asked: dict[str, Any] = {}

    def create_payment_payload(
        self, requirements: PaymentRequirements, extensions: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        if "nonce" not in self.asked:
            return super().create_payment_payload(requirements, extensions)
        now = int(time.time())
        authorization = ExactEIP3009Authorization(
            from_address=self._signer.address,
            to=requirements.pay_to,
            value=requirements.amount,
            valid_after=str(now - self.asked.get("before", 1_200)),
            valid_before=str(now + self.asked.get("after", 60)),
            nonce=self.asked["nonce"],
        )
        signature = self._sign_authorization(authorization, requirements)
        return ExactEIP3009Payload(authorization=authorization, signature=signature).to_dict()


def main(rpc_url: str, gas_key: str, purse: str) -> None:
    signer, inner = FacilitatorWeb3Signer(gas_key, rpc_url), x402FacilitatorSync()
    network = f"eip155:{signer.get_chain_id()}"
    register_exact_evm_facilitator(inner, signer, network)
    scheme, client = PurseScheme(PurseSigner(purse)), x402Client()
    client.register(network, scheme)
    client.set_spend_controls(False)  # the development chain has a USDC of its own
    paid: dict[str, PaymentPayload] = {}
    for line in iter(sys.stdin.readline, ""):
        asked = json.loads(line)
        name = asked["name"]
        if asked["do"] == "pay":
            scheme.asked = asked
            required = PaymentRequired.model_validate(asked["required"])
            made = asyncio.run(client.create_payment_payload(required))
            assert isinstance(made, PaymentPayload)
            paid[name] = made
            told({"made": name})
        elif asked["do"] == "verify":
            told({"ok": bool(inner.verify(paid[name], paid[name].accepted).is_valid)})
        else:
            told({"ok": bool(inner.settle(paid[name], paid[name].accepted).success)})


main(*sys.argv[1:])
