"""Agents' keys in the signer: each call is read and judged again before it is signed."""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Protocol, cast

from chain.adapter import EvmChain
from chain.chains import EvmChains
from chain.contracts import eip712, signatures, transactions
from domain.agents.key_rules import (
    AgentCall,
    PurseBill,
    ReadChain,
    ReadPurse,
    ReadTerms,
    check_bill,
    check_call,
)
from domain.chain_facts import Call, Transaction
from domain.mandates.purse_entries import purse_of
from domain.mandates.purses import BillTerms
from domain.mandates.targets import Target
from domain.mandates.terms import typed_data
from domain.money import Usdc
from domain.ports import Clock
from domain.refusals import Refused, SigningRefused

log = logging.getLogger("wallet.signer")
PER_MINUTE: Final = 30
PER_DAY: Final = 1_000
DAY: Final = timedelta(days=1)
MINUTE: Final = timedelta(minutes=1)


class AgentKeystore(Protocol):
    """The keys on disk."""

    def agent_address(self, name: str) -> str | None:
        """EIP-55 address of the key, which is made at the first call; None for an ended one."""

    def agent_key(self, name: str) -> bytes | None:
        """The key; None where there is none."""

    def agent_key_count(self) -> int:
        """The number of keys that have not ended."""

    def end_agent(self, name: str) -> None:
        """Put the key away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentKeys:
    """Answers to requests about agents' keys."""

    keys: AgentKeystore
    chains: EvmChains
    clock: Clock
    signed_at: dict[str, deque[datetime]] = field(default_factory=dict)

    async def answer(self, request: Mapping[str, object]) -> dict[str, object]:
        """Answer one request about an agent's key. Errors: SigningRefused with the reason."""
        if request["do"] == "agent_key_count":
            return {"count": self.keys.agent_key_count()}
        name = request.get("key")
        if not isinstance(name, str):
            raise SigningRefused("the name of a key is due")
        if request["do"] == "agent_end":
            self.keys.end_agent(name)
            log.warning("the key %s was put away", name)
            return {"ended": True}
        address = self.keys.agent_address(name) if request["do"] == "agent_address" else None
        if address is not None:
            return {"address": address}
        if request["do"] == "agent_address":
            raise SigningRefused("this key has ended")
        if request["do"] == "agent_bill":
            return await self._signed_bill(name, request)
        return await self._signed(name, request)

    async def _signed_bill(self, name: str, request: Mapping[str, object]) -> dict[str, object]:
        """Sign a bill of the vault's own purse, under the token's own name."""
        address, bill = transactions.address_of(self._key(name)), _bill(request.get("bill"))
        self._count(name.partition("-")[0])
        try:
            terms, chain = await self._terms(request), self._chain_of(request)
            check_bill(bill, address, terms, await self._purse(terms, request, chain))
            token = await chain.token_domain()
        except Refused as refused:
            why = refused.refusal.reason
            raise SigningRefused(f"the chain cannot be read: {why}", retry_s=1) from None
        document = chain.bill_typed_data(bill.purse, token, bill.bill)
        # It may have ended while the chain was read.
        signature = signatures.sign(self._key(name), chain.digest(document))
        log.info(
            "signed a bill with the key %s: vault %s, purse %s, payee %s, amount %s, nonce %s",
            name, bill.vault, bill.purse, bill.bill.pay_to, bill.bill.amount, bill.bill.nonce,
        )  # fmt: skip
        return {"signature": signature}

    def _key(self, name: str) -> bytes:
        """The key of this name. Errors: SigningRefused."""
        key = self.keys.agent_key(name)
        if key is None:
            raise SigningRefused("there is no such key of an agent")
        return key

    def _chain_of(self, request: Mapping[str, object]) -> EvmChain:
        raw: Any = request["terms"]
        return self.chains.get(raw["chain_id"])

    async def _purse(
        self, terms: ReadTerms, request: Mapping[str, object], chain: EvmChain
    ) -> ReadPurse:
        """The vault and the purse of its terms as this process reads them."""
        limits, raw = purse_of(terms.targets), cast("Any", request["terms"])
        if limits is None:
            raise SigningRefused("the terms have no purse")
        factory = raw["verifying_contract"]
        digest = eip712.digest(typed_data(terms.message, "2", raw["chain_id"], factory))
        keeps = await chain.approvals_on_chain(factory)
        address = chain.purse_address(
            terms.message, terms.vault, digest, limits, keeps_approvals=keeps
        ).lower()
        states = await chain.vault_states([terms.vault], agreed=True)
        purses = await chain.purse_states([address])
        return ReadPurse(
            vault=states[terms.vault],
            state=purses[address],
            terms=limits,
            own=(terms.vault, address, limits.hub),
        )

    async def _signed(self, name: str, request: Mapping[str, object]) -> dict[str, object]:
        address, call = transactions.address_of(self._key(name)), _call(request.get("call"))
        self._count(name.partition("-")[0])
        try:
            check_call(call, address, await self._terms(request), await self._chain(call, address))
        except Refused as refused:
            why = refused.refusal.reason
            raise SigningRefused(f"the chain cannot be read: {why}", retry_s=1) from None
        # It may have ended while the chain was read.
        signed = transactions.sign(self._key(name), call.transaction)
        log.info(
            "signed %s with the key %s: vault %s, target '%s', amount %s, nonce %d",
            signed.tx_hash, name, call.vault, call.target, call.amount, call.transaction.nonce,
        )  # fmt: skip
        return {"raw": signed.raw}

    def _count(self, agent_id: str) -> None:
        """Hold an agent to its signatures a minute and a day; they are counted before the work."""
        now, times = self.clock.now(), self.signed_at.setdefault(agent_id, deque(maxlen=PER_DAY))
        for most, span, words in ((PER_DAY, DAY, "a day"), (PER_MINUTE, MINUTE, "a minute")):
            left = span - (now - times[-most]) if len(times) >= most else timedelta()
            if left > timedelta():
                why = f"an agent has {most} signatures {words}"
                raise SigningRefused(why, retry_s=math.ceil(left.total_seconds()))
        times.append(now)

    async def _terms(self, request: Mapping[str, object]) -> ReadTerms:
        """The terms in a request; who signed them and which vault they make is found out here."""
        try:
            raw: Any = request["terms"]
            targets = [Target.from_json(t) for t in raw["targets"]]
            message: Mapping[str, str] = raw["message"]
            factory = raw["verifying_contract"]
            document = typed_data(message, "2", raw["chain_id"], factory)
            chain, digest = self.chains.get(raw["chain_id"]), eip712.digest(document)
            vault = chain.vault_address(factory, message, targets, digest)
            owner, signature = message["owner"], raw["signature"]
        except Exception as error:
            # Whatever cannot be read as terms is none.
            raise SigningRefused(f"these are no terms ({type(error).__name__})") from None
        proven = await chain.check_signature(digest, signature, owner)
        return ReadTerms(
            message=message,
            targets=targets,
            signed=proven is not None,
            vault=vault,
        )

    async def _chain(self, call: AgentCall, address: str) -> ReadChain:
        """The vault and the call's result as this process reads them, whatever the caller says."""
        chain = self.chains.get(call.transaction.chain_id)
        plain = call.target, call.data, call.amount
        if call.forfeits:
            made = chain.vault_call(call.vault, "stop")
        elif call.approval is None:
            made = chain.vault_call(call.vault, "execute", *plain)
        else:
            made = chain.vault_call(
                call.vault, "executeApproved", *plain, call.until, call.approval
            )
        states = await chain.vault_states([call.vault], agreed=True)
        tried = Call(made.chain_id, made.to, made.data, sender=address)
        return ReadChain(
            vault=states[call.vault],
            simulation=await chain.simulate(tried),
            calldata=made.data,
            max_fee=(await chain.sending_facts(address)).max_fee,
        )


def _bill(raw: Any) -> PurseBill:
    """The bill in a request. Errors: SigningRefused."""
    try:
        bill = BillTerms(**{**raw["bill"], "amount": Usdc.parse(raw["bill"]["amount"])})
        return PurseBill(vault=raw["vault"], purse=raw["purse"], bill=bill)
    except Exception as error:
        raise SigningRefused(f"this is no bill ({type(error).__name__})") from None


def _call(raw: Any) -> AgentCall:
    """The call in a request. Errors: SigningRefused."""
    try:
        sent = Transaction(**raw["transaction"])
        return AgentCall(**{**raw, "transaction": sent, "amount": Usdc.parse(raw["amount"])})
    except Exception as error:
        raise SigningRefused(f"this is no call ({type(error).__name__})") from None
