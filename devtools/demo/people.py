"""The two who act: an owner over HTTP, an agent over MCP; each with a wallet of its own."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiohttp import ClientSession
from mcp import Client

from devtools.demo.story import StepFailed
from devtools.local_wallet import LocalWallet
from domain.chain_facts import Call
from domain.wire_fields import JsonObject


def as_call(raw: JsonObject) -> Call:
    """A call out of the service's JSON."""
    return Call(int(raw["chain_id"]), str(raw["to"]), str(raw["data"]), str(raw["value"]))


@dataclass(frozen=True, slots=True)
class FundedMandate:
    """A mandate with money in its vault: its route, its vault, the terms and the last answer."""

    path: str
    vault: str
    terms: JsonObject
    status: str


class Owner:
    """A person with a wallet and a session."""

    def __init__(self, http: ClientSession, base: str, wallet: LocalWallet, chain_id: int):
        self._http, self._base, self.wallet, self._chain_id = http, base, wallet, chain_id
        self._headers: dict[str, str] = {}

    def with_key(self, key: str, wallet: LocalWallet) -> Owner:
        """The service for an agent over HTTP, by its key."""
        other = Owner(self._http, self._base, wallet, self._chain_id)
        other._headers = {"X-Service-User-Key": key}
        return other

    async def ask(
        self,
        method: str,
        path: str,
        body: JsonObject | None = None,
        *,
        expect: int = 200,
        **query: Any,
    ) -> JsonObject:
        """Call the service and insist on the status."""
        params = {k: str(v) for k, v in query.items()}
        async with self._http.request(
            method, self._base + path, json=body, params=params, headers=self._headers
        ) as response:
            answer: JsonObject = await response.json()
            if response.status != expect:
                raise StepFailed(
                    f"{method} {path}: {response.status}, not {expect}: {json.dumps(answer)[:600]}"
                )
            return answer

    async def sign_in(self) -> JsonObject:
        """SIWE: ask for a text, sign it, get a session."""
        self._headers = {}
        request = {"address": self.wallet.address, "chain_id": self._chain_id}
        challenge = await self.ask("POST", "/wallet/auth/challenge", request)
        signed = {
            "message": challenge["message"],
            "signature": self.wallet.sign_text(challenge["message"]),
        }
        session = await self.ask("POST", "/wallet/auth/session", signed, expect=201)
        self._headers = {"Authorization": f"Bearer {session['token']}"}
        return session

    def on_chain(self, wallet: LocalWallet) -> Owner:
        """The same person in the same session, with a wallet on another chain."""
        other = Owner(self._http, self._base, wallet, self._chain_id)
        other._headers = self._headers
        return other

    async def agree(self, terms: JsonObject, amount: str) -> FundedMandate:
        """Make terms, sign them, create the vault and put the amount into it."""
        created = await self.ask("POST", "/wallet/mandates", terms, expect=201)
        path = f"/wallet/mandates/{created['public_id']}"
        signable = await self.ask("GET", path + "/terms")
        signature = self.wallet.sign_typed(signable["typed_data"])
        await self.ask("POST", path + "/sign", {"signature": signature})
        tx = await self.send((await self.ask("GET", path + "/create-call"))["call"])
        attached = await self.ask("POST", path + "/vault", {"tx_hash": tx})
        for call in (await self.ask("GET", path + "/fund", amount=amount))["calls"]:
            tx = await self.send(call)
        answer = await self.ask("POST", path + "/vault-tx", {"tx_hash": tx})
        vault = attached["mandate"]["vault_address"]
        return FundedMandate(path, vault, signable, answer["mandate"]["status"])

    async def send(self, call: JsonObject) -> str:
        """Sign and send a call of the service; its hash."""
        receipt = await self.wallet.send(as_call(call))
        if receipt["status"] != 1:
            raise StepFailed(f"the owner's transaction failed: {dict(call)}")
        return "0x" + bytes(receipt["transactionHash"]).hex()


class DemoAgent:
    """A harness: an MCP client and a wallet."""

    def __init__(self, client: Client, wallet: LocalWallet):
        self._client, self.wallet = client, wallet

    async def tools(self) -> list[str]:
        """Names of the tools."""
        return [t.name for t in (await self._client.list_tools()).tools]

    async def call(self, tool: str, **arguments: Any) -> JsonObject:
        """Call a tool that must not refuse."""
        answer = await self.attempt(tool, **arguments)
        if "refusal" in answer:
            raise StepFailed(f"{tool} was refused: {json.dumps(answer['refusal'])[:600]}")
        return answer

    async def attempt(self, tool: str, **arguments: Any) -> JsonObject:
        """Call a tool; a refusal is an answer like another."""
        result = await self._client.call_tool(tool, arguments)
        answer: JsonObject = result.structured_content or {}
        return answer

    async def execute(self, call: JsonObject) -> tuple[bool, str]:
        """Sign and send; whether it succeeded, and its hash."""
        receipt = await self.wallet.send(as_call(call), gas=900_000)
        return receipt["status"] == 1, "0x" + bytes(receipt["transactionHash"]).hex()


@asynccontextmanager
async def harness(transport: Any, wallet: LocalWallet) -> AsyncIterator[DemoAgent]:
    """An agent on a transport."""
    async with Client(transport) as client:
        yield DemoAgent(client, wallet)
