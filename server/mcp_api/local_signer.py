"""Local signer: an act of the agent, signed on its own machine with a key that the service never
sees.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import stat
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final

import httpx2

from chain.contracts import abi_codec, eip712, signatures, transactions
from domain.agents.key_rules import GAS_MOST
from domain.chain_facts import Transaction
from domain.mandates.markets import ENTRIES, EXITS
from domain.mandates.purses import LONGEST_S
from domain.money import ZERO, Usdc
from domain.refusals import Refused, refusal
from http_shim.identity import KEY_HEADER
from http_shim.json_body import read
from server.mcp_api.proxy_client import SAME_KEY
from server.system import SystemClock
from tools.actions.act_models import ActionIn, TransactionTold
from tools.actions.acting import REPLAYED
from tools.actions.pay_models import TransferTypedData

ACT: Final = "mandate_act"
PAY: Final = "mandate_pay"
TRIES: Final = 3
CONNECT_S: Final = 10
_KEY: Final = re.compile(r"(0x)?[0-9a-fA-F]{64}")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
KEYRING_SERVICE: Final = "mandate-wallet"
_PUBLIC_ID: Final = re.compile(r"m_[a-z2-7]{10}")


class UnusableKey(Exception):
    """The key cannot be used; the sentence says why."""


class NotSigned(Exception):
    """The service asks for another signature than this act takes; the sentence says why."""


@dataclass(frozen=True, slots=True)
class LocalKey:
    """A private key, 32 bytes in hex, and the folder for the vaults that it signs for."""

    secret: str = field(repr=False)
    folder: Path


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer of the service, or one in its place."""

    status: int
    body: Mapping[str, object]
    is_repeat: bool = False


class LocalSigner:
    """Acts through the service with a key of this machine. Its folder has the vault of each mandate
    as it was first.
    """

    def __init__(
        self,
        key: LocalKey,
        mcp_url: str,
        agent_key: str | None,
        wait_s: int,
        *,
        gas_most: int = 2**256,
    ):
        """`gas_most` in wei is the most that one transaction may cost. Errors: UnusableKey."""
        self._gas_most = gas_most
        self._key, self._folder, self._clock = key.secret, key.folder, SystemClock()
        try:
            self.address = transactions.address_of(self._key)
        except ValueError:
            raise UnusableKey("0, or from the curve's order on, is no private key") from None
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if stat.S_IMODE(self._folder.stat().st_mode) & 0o077:
            raise UnusableKey(f"{self._folder} is for its owner alone: chmod 700")
        self._base = mcp_url.rpartition("/mcp")[0]
        timeout = httpx2.Timeout(CONNECT_S, read=wait_s)
        self._http = httpx2.AsyncClient(
            headers={KEY_HEADER: agent_key} if agent_key else {}, timeout=timeout
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def act(self, arguments: Mapping[str, object]) -> Answered:
        """Act once for the idempotency key: the service has what was signed with it before."""
        return await self._answer("The act", "action", arguments, self._acted)

    async def pay(self, arguments: Mapping[str, object]) -> Answered:
        """Pay in one call: the bill that the service makes is signed here, where it is the one that
        was asked for. A repeat is the same bill.
        """
        return await self._answer("The payment", "payment_required", arguments, self._paid)

    async def _answer(
        self,
        what: str,
        named: str,
        arguments: Mapping[str, object],
        ask: Callable[[str, dict[str, object]], Awaitable[Answered]],
    ) -> Answered:
        """The answer to a call, whatever befalls it; the object `named` may come as JSON text."""
        public_id = str(arguments.get("public_id"))
        if not _PUBLIC_ID.fullmatch(public_id):
            return _refused(Refused(refusal("not_found", what="mandate")))
        body = {n: v for n, v in arguments.items() if n != "public_id" and v is not None}
        try:
            if isinstance(text := body.get(named), str):
                body[named] = read(text)
            return await ask(f"/wallet/mandates/{public_id}", body)
        except Refused as refused:
            return _refused(refused)
        except NotSigned as why:
            return _refused(Refused(refusal("signer_refused", why=str(why))))
        except (httpx2.TransportError, httpx2.DecodingError, ValueError):
            lost = refusal("outcome_unknown", what=what, next=(SAME_KEY,), retry_safe=True)
            return _refused(Refused(lost))

    async def _acted(self, path: str, body: Mapping[str, object]) -> Answered:
        """Sign what the service has not got yet, and send it. The service keeps the signed bytes by
        the idempotency key before they are sent, and follows those: nothing of an act is kept here.
        """
        for _ in range(TRIES):
            prepared = await self._prepared(path, body)
            if prepared.status != 200:
                return prepared
            known = prepared.body.get("answer")
            if prepared.body.get("to_sign") is None and isinstance(known, dict):
                return Answered(200, known, prepared.is_repeat)
            transaction = _transaction(prepared.body.get("to_sign"))
            try:
                await self._check(path, body, str(prepared.body.get("sender")), transaction)
            except NotSigned:
                # It was sent already, and goes on as it was.
                if isinstance(known, dict):
                    return Answered(200, known, prepared.is_repeat)
                raise
            signed = transactions.sign(self._key, transaction).raw
            reply = await self._post(f"{path}/act/send", {**body, "signed": signed})
            if reply.body.get("error") != "conflict":
                break
        return reply

    async def _prepared(self, path: str, body: Mapping[str, object]) -> Answered:
        return await self._post(f"{path}/act/prepare", body)

    async def _paid(self, path: str, body: Mapping[str, object]) -> Answered:
        made = await self._post(f"{path}/pay", body)
        document = made.body.get("typed_data")
        if made.status != 200 or not isinstance(document, dict) or "signature" in body:
            return made
        _check_bill(body, document, self.address, self._clock.now())
        signature = signatures.sign(self._key, eip712.digest(document))
        return await self._post(f"{path}/pay", {**body, "signature": signature})

    async def _check(
        self,
        path: str,
        body: Mapping[str, object],
        sender: str,
        transaction: Transaction,
    ) -> None:
        """Refuse whatever is not this very act through the mandate's vault. Errors: NotSigned."""
        if sender.lower() != self.address.lower():
            raise NotSigned("the mandate names another address than that of the key")
        if transaction.value != 0 or not 0 < transaction.gas <= GAS_MOST:
            raise NotSigned("the transaction carries coins, or its gas is out of bounds")
        if transaction.gas * transaction.max_fee > self._gas_most:
            raise NotSigned("the gas may cost more than WALLET_AGENT_GAS_MOST_WEI")
        vault = await self._vault(path)
        if (transaction.chain_id, transaction.to.lower()) != vault:
            raise NotSigned("the transaction does not go to the mandate's vault")
        action = ActionIn.model_validate(body.get("action"))
        if action.kind == "forfeit":
            if transaction.data != abi_codec.calldata("MandateVault", "stop", ()):
                raise NotSigned("the transaction is no stop, by which a mandate is given back")
            return
        call = abi_codec.execution(transaction.data)
        if call is None:
            raise NotSigned("the transaction is no execute or executeApproved")
        _check_action(action, vault[1], *call)

    async def _vault(self, path: str) -> tuple[int, str]:
        """The chain and vault of a mandate: as they were when this key signed for it first. Errors:
        NotSigned.
        """
        pinned = self._folder / f"{path.rpartition('/')[2]}.vault"
        try:
            if not pinned.exists():
                answer = await self._get(f"{path}?parts=mandate")
                mandate = answer.body.get("mandate")
                if not isinstance(mandate, dict):
                    raise NotSigned("the mandate cannot be read")
                vault = {"chain_id": mandate.get("chain_id"), "vault": mandate.get("vault_address")}
                _write(pinned, vault)
            raw = json.loads(pinned.read_text())
            return int(raw["chain_id"]), str(raw["vault"]).lower()
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise NotSigned(f"{pinned} is of no use ({type(error).__name__})") from None

    async def _post(self, path: str, body: Mapping[str, object]) -> Answered:
        # A number that no double holds goes as its text, and a lone surrogate as its escape: the
        # service judges both.
        content, headers = json.dumps(body, default=str), {"Content-Type": "application/json"}
        response = await self._http.post(self._base + path, content=content, headers=headers)
        is_repeat = all(response.headers.get(n) == v for n, v in REPLAYED.items())
        return Answered(response.status_code, _object(response), is_repeat)

    async def _get(self, path: str) -> Answered:
        response = await self._http.get(self._base + path)
        return Answered(response.status_code, _object(response))


def _object(response: httpx2.Response) -> Mapping[str, object]:
    """The object of an answer. Errors: ValueError for anything else."""
    value = response.json()
    if not isinstance(value, dict):
        raise ValueError("the service answers with an object")  # noqa: TRY004 - an answer, no argument
    return value


def _refused(refused: Refused) -> Answered:
    return Answered(refused.refusal.kind.status, refused.refusal.as_json("agent"))


def _transaction(raw: object) -> Transaction:
    """The transaction that the service wants signed. Errors: ValueError for what is none."""
    shown = TransactionTold.model_validate(raw)
    amounts = {n: int(getattr(shown, n)) for n in ("value", "max_fee", "tip")}
    return Transaction(
        chain_id=shown.chain_id,
        to=shown.to,
        data=shown.data,
        nonce=shown.nonce,
        gas=shown.gas,
        **amounts,
    )


def _check_bill(request: Mapping[str, object], raw: object, own: str, now: datetime) -> None:
    """Hold a bill to the seller's request: an offer of its own, by network, token, payee and
    amount, within `max_amount` and an hour from now, and never out of the key's `own` account,
    where the signature alone would pay. Errors: NotSigned; ValueError for what is no bill.
    """
    document, required = TransferTypedData.model_validate(raw), request.get("payment_required")
    domain, message = document.domain, document.message
    network = f"eip155:{domain.chain_id}"
    bill_key = (network, domain.verifying_contract, message.to, message.value)
    offers = required.get("accepts") if isinstance(required, dict) else None
    names = ("network", "asset", "payTo", "amount")
    offer_keys = (
        tuple(str(offer.get(name)).lower() for name in names)
        for offer in (offers if isinstance(offers, list) else ())
        if isinstance(offer, dict)
    )
    if tuple(word.lower() for word in bill_key) not in offer_keys:
        raise NotSigned("the bill is none of the seller's offers")
    if int(message.value) > Usdc.parse(request.get("max_amount")).micros:
        raise NotSigned("the bill is above max_amount")
    if int(message.valid_before) - int(message.valid_after) > LONGEST_S:
        raise NotSigned("the bill is good for more than an hour")
    if int(message.valid_before) > now.timestamp() + LONGEST_S:
        raise NotSigned("the bill is good for a later time")
    if message.sender.lower() == own.lower():
        raise NotSigned("the bill pays out of the key's own account")


def _check_action(action: ActionIn, vault: str, target: str, data: str, amount: Usdc) -> None:
    """Hold the call to what was asked for. Errors: NotSigned."""
    if action.kind == "call":
        named = (action.target or "").lower(), (action.data or "").lower()
        same = (target.lower(), data.lower()) == named and amount == (action.approve_amount or ZERO)
    else:
        pulls = action.amount_usdc if action.kind in ("enter", "fund") else ZERO
        same = amount == pulls and _is_purse_call(action, data)
    if not same:
        raise NotSigned("the transaction is another call than the one that was asked for")
    if action.kind in ("enter", "exit"):
        _check_market_call(action, vault, data)


def _is_purse_call(action: ActionIn, data: str) -> bool:
    """True for the calldata of the purse's function that an act names, and for another act."""
    if action.kind == "fund":
        return data == abi_codec.function_call("fund(uint256)", [action.amount_usdc])
    return action.kind != "drain" or data == abi_codec.function_call("drain()", [])


def _check_market_call(action: ActionIn, vault: str, data: str) -> None:
    """Hold the calldata that a market's name stands for to the calls that are known here, word by
    word. An exit that the service's markets file names itself may be another function; it is given
    no USDC. Errors: NotSigned.
    """
    is_exit = action.kind == "exit"
    known = itertools.chain(*EXITS.values()) if is_exit else ENTRIES.values()
    for recipe in known:
        arguments = abi_codec.call_arguments(recipe.function, data)
        if arguments is None:
            continue
        expected = recipe.arguments(action.amount_usdc or 0, vault, "")
        for word, value, argument in zip(recipe.words, expected, arguments, strict=True):
            # Which asset it is says the pool, and the vault approves USDC alone.
            is_free = word in ("usdc", "shares") or (word == "amount" and not action.amount_usdc)
            plain = value.micros if isinstance(value, Usdc) else value
            if not is_free and str(argument).lower() != str(plain).lower():
                raise NotSigned("the call of the market is none that this machine knows")
        return
    if not is_exit:
        raise NotSigned("the call of the market is none that this machine knows")


def key_of_file(path: Path) -> LocalKey:
    """The private key of a file that is its owner's alone. Errors: UnusableKey."""
    try:
        info = path.stat()
        text = path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        raise UnusableKey(f"{path} cannot be read") from None
    if info.st_uid != os.getuid() or stat.S_IMODE(info.st_mode) & 0o077:
        raise UnusableKey(f"{path} is for its owner alone: chmod 600")
    if not _KEY.fullmatch(text):
        raise UnusableKey(f"{path} holds no private key: 32 bytes in hex")
    return LocalKey(text, path.with_name(f"{path.name}.vaults"))


def key_of_keyring(name: str, home: Path) -> LocalKey:
    """The private key that the system's keyring has under a name; the vaults that it signs for lie
    in a folder of this name in `home`. Errors: UnusableKey.
    """
    if not _NAME.fullmatch(name):
        raise UnusableKey("a name has 1 to 64 characters from letters, digits and . _ -")
    if find_spec("keyring") is None:
        raise UnusableKey("it needs the extra `keyring`: pip install 'mandate-wallet[keyring]'")
    import keyring

    try:
        text = keyring.get_password(KEYRING_SERVICE, name)
    except Exception as error:  # each backend raises what it likes beside KeyringError
        raise UnusableKey(f"the keyring cannot be read ({type(error).__name__})") from None
    if text is None:
        how = f"`keyring set {KEYRING_SERVICE} {name}` takes one"
        raise UnusableKey(f"the keyring has no key of this name: {how}")
    if not _KEY.fullmatch(text.strip()):
        raise UnusableKey("what the keyring has under this name is no private key: 32 bytes in hex")
    return LocalKey(text.strip(), home / f"{name}.vaults")


def _write(path: Path, content: Mapping[str, object]) -> None:
    """Replace a file atomically, after its content is on disk; several processes may do so."""
    with NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
        file.write(json.dumps(content))
        file.flush()
        os.fsync(file.fileno())
    Path(file.name).replace(path)
