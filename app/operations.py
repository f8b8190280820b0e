"""Operation client: runs operations for a page, through the dispatch that every transport uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.replies import Record, freeze, thaw
from tools.dispatch.run import run
from tools.model.operation import Caller, Deps, Operation


class OperationRefused(Exception):
    """A refusal that a page does not handle; the screens answer it with the refusal page."""

    def __init__(self, status: int, block: Mapping[str, object]):
        super().__init__(str(block.get("error")))
        self.status, self.block = status, dict(block)

    @property
    def code(self) -> str:
        """The registry code."""
        return str(self.block["error"])


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationClient:
    """Operations as one caller may run them."""

    deps: Deps
    operations: Mapping[str, Operation]
    caller: Caller
    address: str | None

    async def __call__(self, name: str, /, **arguments: Any) -> Record:
        """Run an operation and return its body; arguments that are None are left out.

        Errors: OperationRefused for a refusal.
        """
        return await self.run_once(None, name, **arguments)

    async def run_once(self, key: str | None, name: str, /, **arguments: Any) -> Record:
        """Run an operation under an idempotency key: a form that arrives twice acts once.

        Errors: OperationRefused for a refusal.
        """
        values = {n: thaw(v) for n, v in arguments.items() if v is not None}
        op = self.operations[name]
        reply = await run(op, self.deps, self.caller, values, key=key, address=self.address)
        if reply.refused:
            raise OperationRefused(reply.status, reply.body)
        body: Record = freeze(reply.body)
        return body
