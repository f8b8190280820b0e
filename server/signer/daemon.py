"""`wallet signer`: keys of the keeper and of agents behind a Unix socket; it decides by itself what
it signs.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anyio

from chain.chains import EvmChains
from chain.contracts import eip712
from chain.contracts.signatures import recover
from domain.mandates.targets import Target
from domain.mandates.terms import typed_data
from domain.ports import Clock, Venue
from domain.refusals import Refused, SigningRefused
from domain.trading.indices import dex_of
from domain.trading.keeper_key_rules import (
    BOOK_FRESH,
    SignerMarket,
    SignerTerms,
    check_action,
    check_expiry,
    check_terms,
)
from domain.trading.venue_account import milliseconds
from domain.trading.venue_values import NETWORKS, Network
from domain.wire_fields import JsonObject
from server.settings import Settings
from server.signer.agent_keys import AgentKeys
from server.system import SystemClock, SystemIds, ending_signals
from server.venues import venues
from tools.model.switches import is_on
from venue import signing
from venue.budget import InMemory
from venue.keystore import Keystore, Unsafe

log = logging.getLogger("wallet.signer")
LONGEST_LINE: Final = 256 * 1024
ASK_S: Final = 15
AGENT_REQUESTS: Final = (
    "agent_address",
    "agent_end",
    "agent_key_count",
    "agent_sign",
    "agent_bill",
)
AGENT_CALL_MS: Final = 10_000
_CREDENTIALS: Final = struct.Struct("3i")  # pid, uid, gid (SO_PEERCRED)


class NotStarted(Exception):
    """The signer does not start; the sentence says what to set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signer:
    """The state that requests to the signer share."""

    keys: Keystore
    clock: Clock
    venue: Callable[[Network], Venue]
    agents: AgentKeys | None = None

    async def answer(self, request: JsonObject) -> dict[str, object]:
        """Answer one request. Errors: NotSigned with the reason; nothing is hashed before every
        check has passed.
        """
        if request.get("do") in AGENT_REQUESTS:
            if self.agents is None:
                raise SigningRefused("no keys of agents are held here: WALLET_HOSTED_AGENTS is off")
            return await self.agents.answer(request)
        network, wallet = request.get("network"), request.get("wallet")
        if network not in NETWORKS or not isinstance(wallet, str):
            raise SigningRefused("a network and a wallet are due")
        if request.get("do") == "address":
            return {"address": self.keys.address(network, wallet)}
        if request.get("do") == "renew":
            return {"address": self.keys.renewed(network, wallet, str(request.get("spent")))}
        if request.get("do") != "sign":
            raise SigningRefused("this is not done here")
        return await self._signed(network, wallet, request)

    async def _signed(
        self, network: Network, wallet: str, request: JsonObject
    ) -> dict[str, object]:
        key = self.keys.key(network, wallet)
        coin, action = request.get("coin"), request.get("action")
        if key is None or not isinstance(coin, str):
            raise SigningRefused("there is no key for this wallet, or no market is named")
        if request.get("vault") is not None:
            raise SigningRefused("no action for a vault is signed here")
        check_terms(parse_terms(request.get("terms")), wallet, coin)
        market = await self._market(network, coin)
        now = self.clock.now()
        expires = check_expiry(request.get("expires_after"), now, milliseconds(now))
        check_action(action, market, now)
        nonce = self.keys.nonce(network, wallet, milliseconds(now))
        digest = signing.l1_digest(
            network, signing.action_hash(dict(action or {}), nonce, expires_after=expires)
        )
        created = signing.sign(key, digest)
        return {"nonce": nonce, "expires_after": expires, "signature": created.as_json()}

    async def _market(self, network: Network, coin: str) -> SignerMarket:
        """The market as this process reads it, whatever the caller says of it."""
        venue = self.venue(network)
        try:
            cached = await venue.perps(dex_of(coin), priority="keeper", max_age_s=60)
            perp = next((p for p in cached.value if p.coin == coin), None)
            fresh = BOOK_FRESH.seconds // 2
            book = (await venue.book(coin, priority="keeper", max_age_s=fresh)).value
        except Refused as refused:
            raise SigningRefused(f"the market cannot be read: {refused.refusal.reason}") from None
        if perp is None:
            raise SigningRefused("the venue has no such market")
        return SignerMarket(perp=perp, book=book)


def parse_terms(raw: Any) -> SignerTerms:
    """The terms in a request, with who signed them by this process's own reckoning. Errors:
    NotSigned."""
    try:
        targets = [Target.from_json(t) for t in raw["targets"]]
        document = typed_data(raw["message"], "2", raw["chain_id"], raw["verifying_contract"])
        digest = bytes.fromhex(eip712.digest(document)[2:])
        signer = recover(digest, bytes.fromhex(raw["signature"].removeprefix("0x")))
        hashed = eip712.guard_hash(targets)
    except Exception as error:
        # Whatever cannot be read as terms is none; the types of a stranger's values are no concern
        # of ours.
        raise SigningRefused(f"these are no terms ({type(error).__name__})") from None
    return SignerTerms(
        message=raw["message"],
        targets=[t.as_json() for t in targets],
        targets_hash=hashed,
        signer=signer,
    )


def peer_uid(connection: socket.socket) -> int:
    """The user behind the other end of a Unix socket, as the kernel knows it."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(raw)[1])


async def _conversation(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, signer: Signer, allowed_uid: int
) -> None:
    """Answer the lines of one connection of the allowed user."""
    try:
        if peer_uid(writer.get_extra_info("socket")) != allowed_uid:
            log.warning("a connection of another user was closed")
            return
        while line := await reader.readline():
            raw = await _answered(signer, line)
            writer.write(json.dumps(raw).encode() + b"\n")
            await writer.drain()
    except (ConnectionError, ValueError):  # gone, or a line above the limit
        return
    finally:
        writer.close()


async def _answered(signer: Signer, line: bytes) -> dict[str, object]:
    try:
        request = json.loads(line)
        if not isinstance(request, dict):
            raise SigningRefused("an object is due")
        async with asyncio.timeout(ASK_S):
            return {"ok": await signer.answer(request)}
    except SigningRefused as refused:
        log.warning("refused: %s", refused)
        return {"refused": str(refused), "retry_s": refused.retry_s}
    except (ValueError, RecursionError, TimeoutError) as error:
        return {"refused": f"the request cannot be answered ({type(error).__name__})"}
    except Exception:
        log.exception("the signer failed")
        return {"refused": "something failed inside the signer"}


@asynccontextmanager
async def listening(signer: Signer, path: Path, allowed_uid: int) -> AsyncIterator[None]:
    """Listen on a socket that is the allowed user's alone. Errors: NotStarted."""
    _refuse_taken(path)
    before = os.umask(0o177)
    try:
        # It takes the place of a socket that nobody answers at, and of nothing else.
        server = await asyncio.start_unix_server(
            lambda r, w: _conversation(r, w, signer, allowed_uid), path, limit=LONGEST_LINE
        )
    finally:
        os.umask(before)
    try:
        if allowed_uid != os.getuid():
            _hand_over(path, allowed_uid)
        yield
    finally:
        server.close()
        path.unlink(missing_ok=True)


def _refuse_taken(path: Path) -> None:
    """Refuse a place that is another's: a file (it may be the seal), or a signer's that answers.
    Errors: NotStarted.
    """
    if not path.exists():
        return
    if not path.is_socket():
        raise NotStarted(
            f"{path} is there already and no socket: name another WALLET_SIGNER_SOCKET"
        )
    with socket.socket(socket.AF_UNIX) as probe, suppress(ConnectionRefusedError):
        probe.connect(str(path))
        raise NotStarted(f"another signer answers at {path}: end it first")


def _hand_over(path: Path, uid: int) -> None:
    """Give the socket to the service's user, so that 0600 lets that user alone connect."""
    try:
        os.chown(path, uid, -1)
    except PermissionError:
        raise NotStarted(
            f"the socket cannot be handed to user {uid}: give this process CAP_CHOWN"
        ) from None


def prepared(
    settings: Settings, clock: Clock
) -> tuple[Signer, Path, int, Callable[[], Awaitable[None]]]:
    """The signer of the settings, its socket, who may ask it, and how to close it. Errors:
    NotStarted, Unsafe."""
    missing = [
        name
        for name in ("signer_socket", "signer_keys", "signer_seal_file", "signer_peer_uid")
        if getattr(settings, name) is None
    ]
    if missing:
        names = ", ".join(f"WALLET_{name.upper()}" for name in missing)
        raise NotStarted(f"the signer lacks {names}: set them in an environment of its own")
    if settings.signer_socket is None or settings.signer_keys is None:
        raise NotStarted("set WALLET_SIGNER_SOCKET and WALLET_SIGNER_KEYS")
    if settings.signer_seal_file is None or settings.signer_peer_uid is None:
        raise NotStarted("set WALLET_SIGNER_SEAL_FILE and WALLET_SIGNER_PEER_UID")
    networks = venues(settings, clock, InMemory())
    try:
        keys = Keystore(settings.signer_keys, settings.signer_seal_file, SystemIds().nonce256)
    except Unsafe as error:
        raise NotStarted(str(error)) from None
    chains = EvmChains(settings.chain_facts, AGENT_CALL_MS)
    hosts = is_on(settings.hosted_agents)
    agents = AgentKeys(keys=keys, chains=chains, clock=clock) if hosts else None
    signer = Signer(keys=keys, clock=clock, venue=networks.get, agents=agents)

    async def close() -> None:
        await networks.close()
        await chains.close()

    return signer, settings.signer_socket, settings.signer_peer_uid, close


async def run_signer(settings: Settings, report: Callable[[str], None]) -> None:
    """Hold the keys until a signal ends it. Errors: NotStarted."""
    signer, path, uid, close = prepared(settings, SystemClock())
    try:
        with (
            anyio.open_signal_receiver(*ending_signals()) as signals,
            signer.keys.alone(),
        ):
            async with listening(signer, path, uid):
                report(f"wallet: signing for user {uid} at {path}")
                async for _ in signals:
                    return
    except Unsafe as problem:
        raise NotStarted(str(problem)) from None
    finally:
        await close()
