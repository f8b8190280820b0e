"""Local signer: an act of the agent, signed on its own machine with a key that the service never
sees.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import httpx2

from chain.contracts import abi_codec, transactions
from domain.agents.key_rules import GAS_MOST
from domain.chain_facts import Transaction
from domain.money import ZERO, Usdc
from domain.refusals import Refused, refusal
from http_shim.identity import KEY_HEADER
from server.mcp_api.proxy_client import SAME_KEY

ACT: Final = "mandate_act"
TRIES: Final = 3
CONNECT_S: Final = 10
_KEY: Final = re.compile(r"(0x)?[0-9a-fA-F]{64}")
_PUBLIC_ID: Final = re.compile(r"m_[a-z2-7]{10}")


class UnsafeKeyFile(Exception):
    """The key file cannot be used; the sentence says why."""


class NotSigned(Exception):
    """The service asks for another signature than this act takes; the sentence says why."""


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer of the service, or one in its place."""

    status: int
    body: Mapping[str, Any]

    @property
    def is_conflict(self) -> bool:
        """True where the bytes are not those that the act takes now."""
        return self.status == 409 and self.body.get("error") == "conflict"


class LocalSigner:
    """Acts through the service with the key of a file; what it signs lies beside that file before
    it is sent.
    """

    def __init__(self, key_file: Path, mcp_url: str, agent_key: str | None, wait_s: int):
        """Errors: UnsafeKeyFile."""
        self._key = _read_key(key_file)
        self.address = transactions.address_of(self._key)
        self._folder = key_file.with_name(f"{key_file.name}.sent")
        self._folder.mkdir(mode=0o700, exist_ok=True)
        if stat.S_IMODE(self._folder.stat().st_mode) & 0o077:
            raise UnsafeKeyFile(f"{self._folder} is for its owner alone: chmod 700")
        self._base = mcp_url.rpartition("/mcp")[0]
        timeout = httpx2.Timeout(CONNECT_S, read=wait_s)
        self._http = httpx2.AsyncClient(
            headers={KEY_HEADER: agent_key} if agent_key else {}, timeout=timeout
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def act(self, arguments: Mapping[str, Any]) -> Answered:
        """Act once for the idempotency key: the same bytes again, where they were signed before."""
        public_id = str(arguments.get("public_id"))
        if not _PUBLIC_ID.fullmatch(public_id):
            return _refused(Refused(refusal("not_found", what="mandate")))
        body = {n: v for n, v in arguments.items() if n != "public_id" and v is not None}
        if isinstance(body.get("action"), str):
            body["action"] = json.loads(body["action"])
        path = f"/wallet/mandates/{public_id}"
        kept = self._folder / f"{self._name(public_id, body)}.json"
        try:
            return await self._acted(path, body, kept)
        except NotSigned as why:
            return _refused(Refused(refusal("signer_refused", why=str(why))))
        except (httpx2.TransportError, httpx2.DecodingError, ValueError):
            lost = refusal("outcome_unknown", what="The act", next=(SAME_KEY,), retry_safe=True)
            return _refused(Refused(lost))

    async def _acted(self, path: str, body: Mapping[str, Any], kept: Path) -> Answered:
        if kept.exists():
            signed = str(json.loads(kept.read_text())["signed"])
            answer = await self._post(f"{path}/act/send", {**body, "signed": signed})
            if not answer.is_conflict or not await self._is_unseen(path, signed):
                return answer
        for _ in range(TRIES):
            prepared = await self._post(f"{path}/act/prepare", body)
            if prepared.status != 200:
                return prepared
            if prepared.body.get("to_sign") is None:
                return Answered(200, prepared.body["answer"])
            transaction = _transaction(prepared.body["to_sign"])
            await self._check(path, body["action"], prepared.body, transaction)
            signed = transactions.sign(self._key, transaction).raw
            _write(kept, {"signed": signed})
            answer = await self._post(f"{path}/act/send", {**body, "signed": signed})
            if not answer.is_conflict or not await self._is_unseen(path, signed):
                return answer
        return answer

    async def _is_unseen(self, path: str, signed: str) -> bool:
        """True where the chain knows no such transaction, so that another may take its place."""
        read = transactions.read_signed(signed)
        tx_hash = "" if read is None else read.tx_hash
        answer = await self._get(f"{path}/reconcile?tx_hash={quote(tx_hash)}")
        return answer.status == 200 and answer.body.get("outcome") == "not_seen"

    async def _check(
        self,
        path: str,
        action: Mapping[str, Any],
        prepared: Mapping[str, Any],
        transaction: Transaction,
    ) -> None:
        """Refuse whatever is not this very act through the mandate's vault. Errors: NotSigned."""
        if str(prepared.get("sender")).lower() != self.address.lower():
            raise NotSigned(f"the mandate names {prepared.get('sender')}, the key {self.address}")
        if transaction.value != 0 or not 0 < transaction.gas <= GAS_MOST:
            raise NotSigned("the transaction carries coins, or its gas is out of bounds")
        vault = await self._vault(path)
        if (transaction.chain_id, transaction.to.lower()) != vault:
            raise NotSigned("the transaction does not go to the mandate's vault")
        call = abi_codec.execution(transaction.data)
        if call is None:
            raise NotSigned("the transaction is no execute or executeApproved")
        _check_action(action, *call)

    async def _vault(self, path: str) -> tuple[int, str]:
        """The chain and vault of a mandate: as they were when this key signed for it first."""
        pinned = self._folder / f"{path.rpartition('/')[2]}.vault"
        if not pinned.exists():
            answer = await self._get(f"{path}?parts=mandate")
            mandate = answer.body.get("mandate") or {}
            _write(
                pinned, {"chain_id": mandate.get("chain_id"), "vault": mandate.get("vault_address")}
            )
        raw = json.loads(pinned.read_text())
        return int(raw["chain_id"]), str(raw["vault"]).lower()

    def _name(self, public_id: str, body: Mapping[str, Any]) -> str:
        place = "\n".join((self._base, public_id, str(body.get("idempotency_key"))))
        return hashlib.sha256(place.encode()).hexdigest()

    async def _post(self, path: str, body: Mapping[str, Any]) -> Answered:
        response = await self._http.post(self._base + path, json=dict(body))
        return Answered(response.status_code, _object(response))

    async def _get(self, path: str) -> Answered:
        response = await self._http.get(self._base + path)
        return Answered(response.status_code, _object(response))


def _object(response: httpx2.Response) -> Mapping[str, Any]:
    """The object of an answer. Errors: ValueError for anything else."""
    value = response.json()
    if not isinstance(value, dict):
        raise ValueError("the service answers with an object")  # noqa: TRY004 - an answer, no argument
    return value


def _refused(refused: Refused) -> Answered:
    return Answered(refused.refusal.kind.status, refused.refusal.as_json("agent"))


def _transaction(raw: Mapping[str, Any]) -> Transaction:
    numbers = {n: int(raw[n]) for n in ("chain_id", "value", "nonce", "gas", "max_fee", "tip")}
    return Transaction(to=str(raw["to"]), data=str(raw["data"]), **numbers)


def _check_action(action: Mapping[str, Any], target: str, data: str, amount: Usdc) -> None:
    """Hold the call to what was asked for. Errors: NotSigned."""
    if action.get("kind") == "call":
        asked_for = str(action.get("target")).lower(), str(action.get("data")).lower()
        most = Usdc.parse(action.get("approve_amount") or "0")
        same = (target.lower(), data.lower()) == asked_for and amount == most
    else:
        most = Usdc.parse(action.get("amount_usdc") or "0")
        same = amount == (most if action.get("kind") == "enter" else ZERO)
    if not same:
        raise NotSigned("the transaction is another call than the one that was asked for")


def _read_key(path: Path) -> str:
    """The private key of a file that is its owner's alone. Errors: UnsafeKeyFile."""
    try:
        info = path.stat()
        text = path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        raise UnsafeKeyFile(f"{path} cannot be read") from None
    if info.st_uid != os.getuid() or stat.S_IMODE(info.st_mode) & 0o077:
        raise UnsafeKeyFile(f"{path} is for its owner alone: chmod 600")
    if not _KEY.fullmatch(text):
        raise UnsafeKeyFile(f"{path} holds no private key: 32 bytes in hex")
    return text


def _write(path: Path, content: Mapping[str, object]) -> None:
    """Replace a file atomically, after its content is on disk."""
    new = path.with_suffix(".new")
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(json.dumps(content))
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
