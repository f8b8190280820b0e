"""The line from the service to the signer; no key ever comes over it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from domain.agents.key_rules import AgentCall, PurseBill
from domain.mandates.mandate import SignedTerms
from domain.mandates.targets import Target
from domain.refusals import Refused, SigningRefused, refusal
from domain.trading.orders import CancelAction, Envelope, OrderAction
from domain.trading.venue_values import Network
from domain.wire_fields import JsonObject
from venue.orders import action_of

ANSWER_S: Final = 20
LONGEST_LINE: Final = 256 * 1024


class SignerClient:
    """The `OrderSigner` and `AgentSigner` ports over a Unix socket; a connection a question."""

    def __init__(self, path: Path):
        self._path = path

    async def keeper_address(self, network: Network, wallet: str) -> str:
        """The address of the key for a linked wallet."""
        raw = await self.ask({"do": "address", "network": network, "wallet": wallet})
        return str(raw["address"])

    async def keeper_renewed(self, network: Network, wallet: str, spent: str) -> str:
        """The address of a key in place of one that was spent."""
        raw = await self.ask({"do": "renew", "network": network, "wallet": wallet, "spent": spent})
        return str(raw["address"])

    async def keeper_signed(
        self,
        network: Network,
        wallet: str,
        coin: str,
        action: OrderAction | CancelAction,
        expires_after: int,
        terms: Mapping[str, object],
    ) -> tuple[Envelope, Mapping[str, object]]:
        """An action signed by the key for a linked wallet, with a nonce of the key's own."""
        raw = await self.ask(
            {
                "do": "sign",
                "network": network,
                "wallet": wallet,
                "coin": coin,
                "action": action_of(action),
                "expires_after": expires_after,
                "terms": terms,
            }
        )
        envelope = Envelope(nonce=int(raw["nonce"]), expires_after=int(raw["expires_after"]))
        return envelope, dict(raw["signature"])

    async def agent_address(self, key: str) -> str:
        """The address of an agent's key."""
        return str((await self.ask({"do": "agent_address", "key": key}))["address"])

    async def agent_key_end(self, key: str) -> None:
        """No transaction is signed with the agent's key from now on."""
        await self.ask({"do": "agent_end", "key": key})

    async def agent_key_count(self) -> int:
        """The number of agents' keys that sign."""
        return int((await self.ask({"do": "agent_key_count"}))["count"])

    async def agent_signed(
        self, key: str, terms: SignedTerms, targets: Sequence[Target], call: AgentCall
    ) -> str:
        """The signed bytes of a call of the vault of these terms."""
        raw = await self.ask(
            {
                "do": "agent_sign",
                "key": key,
                "terms": _terms(terms, targets),
                "call": {**asdict(call), "amount": str(call.amount)},
            }
        )
        return str(raw["raw"])

    async def agent_signed_bill(
        self, key: str, terms: SignedTerms, targets: Sequence[Target], bill: PurseBill
    ) -> str:
        """The signature over a bill of the purse of the vault of these terms."""
        terms_of_bill = {**asdict(bill.bill), "amount": str(bill.bill.amount)}
        raw = await self.ask(
            {
                "do": "agent_bill",
                "key": key,
                "terms": _terms(terms, targets),
                "bill": {"vault": bill.vault, "purse": bill.purse, "bill": terms_of_bill},
            }
        )
        return str(raw["signature"])

    async def ask(self, request: Mapping[str, object]) -> JsonObject:
        """Ask the signer. Errors: `not_configured` where it is away, NotSigned with its reason."""
        try:
            async with asyncio.timeout(ANSWER_S):
                raw = await self._query_signer(request)
        except (OSError, ValueError, TimeoutError):
            raise Refused(
                refusal("not_configured", what="keys that it holds, or its signer does not answer")
            ) from None
        if "ok" not in raw:
            retry_s = raw.get("retry_s")
            why = str(raw.get("refused", "it gave no answer"))
            raise SigningRefused(why, retry_s=retry_s if isinstance(retry_s, int) else None)
        answer: JsonObject = raw["ok"]
        return answer

    async def _query_signer(self, request: Mapping[str, object]) -> JsonObject:
        reader, writer = await asyncio.open_unix_connection(self._path, limit=LONGEST_LINE)
        try:
            writer.write(json.dumps(request).encode() + b"\n")
            await writer.drain()
            line = await reader.readline()
        finally:
            writer.close()
        raw = json.loads(line)
        if not isinstance(raw, dict):
            raise ValueError("the signer answers with an object")  # noqa: TRY004 - an answer, no argument
        return raw


def _terms(terms: SignedTerms, targets: Sequence[Target]) -> dict[str, object]:
    return {
        "message": dict(terms.message),
        "chain_id": terms.chain_id,
        "verifying_contract": terms.verifying_contract,
        "signature": terms.signature,
        "targets": [t.as_json() for t in targets],
    }
