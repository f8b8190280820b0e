"""The harness's chain on revm, for the mutation run alone: a test takes a tenth of the time.

What it cannot do (code set from outside, EIP-7702) fails there on unchanged contracts too, and is
judged on the embedded EVM.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Final

from eth_utils import to_checksum_address
from pyrevm import EVM, BlockEnv, CfgEnv, Env

from devtools.devchain import DevChain
from tests.contracts.harness import GAS, START, Contract, Evm, Receipt, Refusal

GAS_LIMIT: Final = 30_000_000
PADDING: Final = b"\0" * 33  # what revm's analysis puts behind the code
REVERTED: Final = re.compile(r"output: 0x([0-9a-f]*)")


class RevmChain:
    """What the tests ask of the chain itself."""

    def __init__(self, evm: EVM):
        self._evm, self.number = evm, 0

    @property
    def head(self) -> SimpleNamespace:
        return SimpleNamespace(number=self.number)

    def snapshot(self) -> tuple[Any, int]:
        return self._evm.snapshot(), self.number

    def revert(self, kept: tuple[Any, int]) -> None:
        """Go back; the newest snapshot first."""
        self._evm.revert(kept[0])
        self.number = kept[1]


class RevmEvm(Evm):
    """One chain whose clock is `time`; every transaction is a block of its own."""

    def __init__(self) -> None:
        accounts = DevChain(lambda: START).accounts
        cfg = CfgEnv(chain_id=31337)
        self._revm = EVM(env=Env(cfg=cfg), gas_limit=GAS_LIMIT, spec_id="CANCUN")
        self.time = START
        self.chain: Any = RevmChain(self._revm)
        self.keys = {to_checksum_address(a): k for a, k in accounts.items()}
        self.people, self.names = list(self.keys), {}
        for account in self.people:
            self._revm.set_balance(account, 10**22)

    def nonce(self, account: str) -> int:
        return int(self._revm.basic(account).nonce)

    def code(self, account: str) -> bytes:
        return bytes(self._revm.get_code(account) or b"")

    def send(
        self,
        by: str,
        to: str | None,
        data: bytes,
        *,
        gas: int = GAS,
        value: int = 0,
        authorizations: Sequence[Any] = (),
    ) -> Receipt:
        if authorizations:
            raise NotImplementedError("EIP-7702")
        before = self._revm.snapshot()
        try:
            made, _ = self._run(by, to, data, gas, value)
        except Refusal:
            self._revm.revert(before)
            raise
        self._revm.commit()  # an open checkpoint counts as a call around all that follow
        self.chain.number += 1
        done = self._revm.result
        logs = [
            (bytes.fromhex(g.address[2:]), [int(t, 16) for t in g.topics], g.data[1])
            for g in done.logs
        ]
        return Receipt(done.gas_used, tuple(self._events(logs)), made)

    def deploy(
        self, name: str, *args: Any, by: str | None = None, gas: int = GAS_LIMIT
    ) -> Contract:
        """With as much gas as there is: what the optimizer did not see is larger."""
        return super().deploy(name, *args, by=by, gas=gas)

    def call(self, by: str, to: str | None, data: bytes, *, gas: int = 0, value: int = 0) -> bytes:
        before = self._revm.snapshot()
        try:
            return self._run(by, to, data, gas or GAS_LIMIT, value)[1]
        finally:
            self._revm.revert(before)

    def _run(
        self, by: str, to: str | None, data: bytes, gas: int, value: int
    ) -> tuple[str | None, bytes]:
        """(the contract made, what was answered). Errors: Refusal."""
        self._revm.reset_transient_storage()
        block = BlockEnv(number=self.chain.number + 1, timestamp=self.time, gas_limit=GAS_LIMIT)
        self._revm.set_block_env(block)
        try:
            if to is None:
                made = to_checksum_address(self._revm.deploy(by, data, value=value, gas=gas))
                return made, self.code(made).removesuffix(PADDING)
            answer = self._revm.message_call(by, to, data, value=value, gas=gas)
        except RuntimeError as error:
            output = REVERTED.search(str(error))
            raise Refusal(bytes.fromhex(output[1]) if output else b"") from None
        return None, bytes(answer)
