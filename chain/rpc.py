"""JSON-RPC to one node: timeouts, bounded retries, and one refusal for everything a node can do wrong."""

from __future__ import annotations

from typing import Any, Final

import stamina
from aiohttp import ClientError, ClientResponseError, ClientTimeout
from web3 import AsyncHTTPProvider
from web3.exceptions import Web3Exception
from web3.types import RPCEndpoint

from domain.refusals import Refused, refusal

ATTEMPTS: Final = 4
_BUSY: Final = (-32005, -32097, 429)


class RpcFault(Exception):
    """The node's own JSON-RPC error; `data` is a revert's return data."""

    def __init__(self, code: int, message: str, data: bytes | None):
        super().__init__(message)
        self.code, self.data = code, data


class _TryAgain(Exception):
    """A passing fault."""

    def __init__(self, why: str, after_s: int = 1):
        super().__init__(why)
        self.why, self.after_s = why, after_s


class Rpc:
    """Raw JSON-RPC through web3's HTTP provider.

    Errors: `RpcFault` for what the node refuses (a revert, a range too wide), `chain_unavailable` for a node that
    times out, is busy, answers nonsense or serves another chain: never a guessed figure (chain.md).
    """

    def __init__(self, url: str, chain_id: int, timeout_s: int = 10):
        self.chain_id = chain_id
        self._provider = AsyncHTTPProvider(
            url, request_kwargs={"timeout": ClientTimeout(total=timeout_s)}, exception_retry_configuration=None
        )
        # A contract that we call must not send this server to an address of its choice (EIP-3668).
        self._provider.global_ccip_read_enabled = False
        self._checked = False

    async def ask(self, method: str, *params: Any) -> Any:
        """Call a method and return its result."""
        if not self._checked:
            await self._check_chain()
        return await self._asked(method, *params)

    async def close(self) -> None:
        """Close the HTTP session."""
        await self._provider.disconnect()

    async def _check_chain(self) -> None:
        told = await self._asked("eth_chainId")
        try:
            number = int(told, 16)
        except (TypeError, ValueError):
            raise self._unavailable("the node does not say which chain it serves") from None
        if number != self.chain_id:
            raise self._unavailable(f"the node serves chain {number}")
        self._checked = True

    async def _asked(self, method: str, *params: Any) -> Any:
        try:
            async for attempt in stamina.retry_context(
                on=_TryAgain, attempts=ATTEMPTS, timeout=None, wait_initial=0.05, wait_max=1.0, wait_jitter=0.1
            ):
                with attempt:
                    return await self._once(method, list(params))
        except _TryAgain as fault:
            raise self._unavailable(fault.why, fault.after_s) from None
        raise AssertionError("the retry loop returns or raises")

    async def _once(self, method: str, params: list[Any]) -> Any:
        try:
            answer: Any = await self._provider.make_request(RPCEndpoint(method), params)
        except ClientResponseError as error:
            after = error.headers.get("Retry-After", "1") if error.headers else "1"
            raise _TryAgain(f"HTTP {error.status}", int(after) if after.isdigit() else 1) from None
        except (ClientError, TimeoutError, OSError) as error:
            raise _TryAgain(f"no answer ({type(error).__name__})") from None
        except (Web3Exception, ValueError) as error:
            raise _TryAgain(f"an answer that is not JSON-RPC ({type(error).__name__})") from None
        if not isinstance(answer, dict) or ("result" not in answer and "error" not in answer):
            raise _TryAgain("an answer that is not JSON-RPC")
        if answer.get("error"):
            raise self._fault(answer["error"])
        return answer["result"]

    @staticmethod
    def _fault(error: Any) -> Exception:
        if not isinstance(error, dict):
            return _TryAgain("an answer that is not JSON-RPC")
        code, message, data = error.get("code"), str(error.get("message", "")), error.get("data")
        if code in _BUSY:
            return _TryAgain("the node is busy")
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
        return Refused(refusal("chain_unavailable", chain_id=self.chain_id, why=why, detail={"retry_after_s": max(1, after_s)}))

    def unavailable(self, why: str) -> Refused:
        """The refusal for an answer that cannot be used."""
        return self._unavailable(why)
