"""JSON-RPC to one node: timeouts, bounded retries, and one refusal for everything a node can do
wrong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Final

import stamina
from aiohttp import ClientError, ClientResponseError, ClientTimeout
from web3 import AsyncHTTPProvider
from web3.exceptions import Web3Exception
from web3.types import RPCEndpoint

from domain.refusals import Refused, refusal

ATTEMPTS: Final = 4
PATIENCE_S: Final = (
    2  # a node that asks for a longer pause is not waited for; the caller is told how long it is
)
_QUANTITY: Final = re.compile(r"0x[0-9a-fA-F]{1,64}")
_PASSING: Final = (408, 425, 429, 500, 502, 503, 504)
_BUSY_CODES: Final = (-32005, -32097, 429)
_BUSY: Final = re.compile(
    r"rate limit|too many requests|request limit|request rate|capacity|^limit exceeded",
    re.IGNORECASE,
)
# Behind one address there may be several nodes, one of which has not seen the block that another
# just named.
_NOT_YET: Final = re.compile(
    r"header not found|unknown block|block not found|header for hash not found", re.IGNORECASE
)
_TOO_MUCH: Final = re.compile(
    r"range|too large|too big|exceed|more than|timeout|timed out|"
    r"query returned|response size|results|HTTP 4",
    re.IGNORECASE,
)
_REVERTED: Final = re.compile(
    r"revert|out of gas|gas required exceeds|invalid opcode|invalid jump|"
    r"stack (under|over)flow|vm exec|vm exception|EVM error",
    re.IGNORECASE,
)


class RpcFault(Exception):
    """The node's own JSON-RPC error; `data` is a revert's return data."""

    def __init__(self, code: int, message: str, data: bytes | None):
        super().__init__(message)
        self.code, self.data = code, data

    @property
    def reverted(self) -> bool:
        """True where the EVM ran the call and it failed; any other fault says nothing about the
        call.
        """
        return self.code == 3 or bool(self.data) or _REVERTED.search(str(self)) is not None

    @property
    def too_much(self) -> bool:
        """True where a smaller question may be answered."""
        return _TOO_MUCH.search(str(self)) is not None


class _TryAgain(Exception):
    """A passing fault; `after_s` is the pause that the node asks for."""

    def __init__(self, why: str, after_s: int | None = None):
        super().__init__(why)
        self.why, self.after_s = why, after_s


def _backoff(fault: Exception) -> bool | float:
    """Whether and when to try again: stamina's own growing pauses where the node names none."""
    if not isinstance(fault, _TryAgain):
        return False
    if fault.after_s is None:
        return True
    return float(fault.after_s) if fault.after_s <= PATIENCE_S else False


class Rpc:
    """Raw JSON-RPC through web3's HTTP provider.

    Errors: `chain_unavailable` for a node that times out, is busy, answers nonsense or serves
    another chain: never a guessed figure (chain.md).
    """

    def __init__(self, url: str, chain_id: int, timeout_s: int = 10, *, names_chain: bool = True):
        self.chain_id, self._timeout_s = chain_id, timeout_s
        self._provider = AsyncHTTPProvider(
            url,
            request_kwargs={"timeout": ClientTimeout(total=timeout_s)},
            exception_retry_configuration=None,
        )
        # A contract that we call must not send this server to an address of its choice (EIP-3668).
        self._provider.global_ccip_read_enabled = False
        # A service that is no node has no chain id to give.
        self._names_chain, self._checked = names_chain, False

    async def ask(self, method: str, *params: Any) -> Any:
        """Call a method and return its result.

        Errors: RpcFault for what the node itself answers with an error, a revert for example.
        """
        if self._names_chain and not self._checked:
            await self._check_chain()
        return await self._asked(method, *params)

    async def fact(self, method: str, *params: Any) -> Any:
        """Call a method for which no error of the node's is an answer."""
        try:
            return await self.ask(method, *params)
        except RpcFault as fault:
            raise self._unavailable(f"{method} refused: {fault}") from None

    async def quantity(self, method: str, *params: Any) -> int:
        """Call a method whose result is a number, and for which no error is an answer."""
        return self.number(await self.fact(method, *params))

    def number(self, told: Any) -> int:
        """Read a JSON-RPC quantity."""
        if not isinstance(told, str) or not _QUANTITY.fullmatch(told):
            raise self._unavailable("the node gives no number where one is due")
        return int(told, 16)

    async def close(self) -> None:
        """Close the HTTP session."""
        await self._provider.disconnect()

    async def _check_chain(self) -> None:
        try:
            number = self.number(await self._asked("eth_chainId"))
        except RpcFault as fault:
            raise self._unavailable(f"eth_chainId refused: {fault}") from None
        if number != self.chain_id:
            raise self._unavailable(f"the node serves chain {number}")
        self._checked = True

    async def _asked(self, method: str, *params: Any) -> Any:
        try:
            async for attempt in stamina.retry_context(
                on=_backoff,
                attempts=ATTEMPTS,
                timeout=self._timeout_s,
                wait_initial=0.05,
                wait_max=1.0,
                wait_jitter=0.1,
            ):
                with attempt:
                    return await self._once(method, list(params))
        except _TryAgain as fault:
            raise self._unavailable(fault.why, fault.after_s or 1) from None
        raise AssertionError("the retry loop returns or raises")

    async def _once(self, method: str, params: list[Any]) -> Any:
        try:
            answer: Any = await self._provider.make_request(RPCEndpoint(method), params)
        except ClientResponseError as error:
            raise self._http_fault(error) from None
        except (ClientError, TimeoutError, OSError) as error:
            raise _TryAgain(f"no answer ({type(error).__name__})") from None
        except (Web3Exception, ValueError, RecursionError) as error:
            raise _TryAgain(f"an answer that is not JSON-RPC ({type(error).__name__})") from None
        if isinstance(answer, dict) and answer.get("error"):
            raise self._fault(answer["error"])
        if not isinstance(answer, dict) or "result" not in answer:
            raise _TryAgain("an answer that is not JSON-RPC")
        return answer["result"]

    def _http_fault(self, error: ClientResponseError) -> Exception:
        if error.status in _PASSING:
            return _TryAgain(f"HTTP {error.status}", _retry_after(error.headers or {}))
        if error.status in (400, 413):  # how some providers refuse a range of logs that is too wide
            return RpcFault(-32600, f"HTTP {error.status}", None)
        return self._unavailable(f"HTTP {error.status}")

    @staticmethod
    def _fault(error: Any) -> Exception:
        if not isinstance(error, dict):
            return _TryAgain("an answer that is not JSON-RPC")
        code, message, data = error.get("code"), str(error.get("message", "")), error.get("data")
        if _BUSY.search(message) or (code in _BUSY_CODES and not _TOO_MUCH.search(message)):
            return _TryAgain("the node is busy")
        if _NOT_YET.search(message):
            return _TryAgain("the node does not have the block")
        raw = None
        if isinstance(data, dict):  # some nodes wrap the revert data once more
            data = data.get("data")
        if isinstance(data, str) and data.startswith("0x"):
            try:
                raw = bytes.fromhex(data[2:])
            except ValueError:
                raw = None
        return RpcFault(code if isinstance(code, int) else -32000, message[:300], raw)

    def _unavailable(self, why: str, after_s: int = 1) -> Refused:
        self._checked = False  # whoever answers next says again which chain it serves
        return Refused(
            refusal(
                "chain_unavailable",
                chain_id=self.chain_id,
                why=why,
                detail={"retry_after_s": max(1, after_s)},
            )
        )

    def unavailable(self, why: str) -> Refused:
        """The refusal for an answer that cannot be used."""
        return self._unavailable(why)


def _retry_after(headers: Mapping[str, str]) -> int | None:
    """Seconds of a Retry-After header, which holds seconds or a date; a date counts from the
    answer's own Date.
    """
    told = headers.get("Retry-After", "").strip()
    if told.isdecimal():
        return int(told[:6])
    try:
        until, sent = parsedate_to_datetime(told), parsedate_to_datetime(headers.get("Date", ""))
        return max(0, int((until - sent).total_seconds()))
    except (TypeError, ValueError):
        return None
