"""The chain as a web3 provider in this process, without HTTP."""

from __future__ import annotations

from typing import Any, cast

from web3.providers import BaseProvider
from web3.providers.async_base import AsyncBaseProvider
from web3.types import RPCEndpoint, RPCResponse

from devtools.devchain.core import DevChain
from devtools.devchain.rpc import answer


class DevChainProvider(BaseProvider):
    """For `Web3`."""

    # A contract that is called must not send the caller to an address of its choice (EIP-3668).
    global_ccip_read_enabled = False

    def __init__(self, chain: DevChain):
        super().__init__()
        self._chain = chain

    def make_request(self, method: RPCEndpoint, params: Any) -> RPCResponse:
        """Answer one request."""
        return cast(
            "RPCResponse", answer(self._chain, {"id": 1, "method": method, "params": list(params)})
        )

    def is_connected(self, show_traceback: bool = False) -> bool:
        """True: the chain is in this process."""
        return True


class AsyncDevChainProvider(AsyncBaseProvider):
    """For `AsyncWeb3`."""

    global_ccip_read_enabled = False

    def __init__(self, chain: DevChain):
        super().__init__()
        self._chain = chain

    async def make_request(self, method: RPCEndpoint, params: Any) -> RPCResponse:
        """Answer one request."""
        return cast(
            "RPCResponse", answer(self._chain, {"id": 1, "method": method, "params": list(params)})
        )

    async def is_connected(self, show_traceback: bool = False) -> bool:
        """True: the chain is in this process."""
        return True
