"""Agent key rules: what is signed with a key that the service holds for an agent.

A vault takes whatever its agent signs, within its terms. These rules look at the call itself, at
the terms that the owner signed, and at the vault as the signer has read it by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from domain.chain_facts import PurseState, Simulation, Transaction, VaultState
from domain.mandates.actions import selector_of
from domain.mandates.purse_entries import purse_function
from domain.mandates.purses import LONGEST_S, BillTerms, PurseTerms
from domain.mandates.targets import Target
from domain.money import ZERO, Usdc
from domain.refusals import SigningRefused

GAS_MOST: Final = 5_000_000
FEE_TIMES: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCall:
    """A call of a vault's execute, or of executeApproved with the owner's signature good until
    `until` (unix seconds), and the transaction that makes it. Without a target it is the vault's
    stop(), by which the agent gives its mandate back.
    """

    vault: str
    target: str
    data: str
    amount: Usdc
    transaction: Transaction
    until: int | None = None
    approval: str | None = None

    @property
    def forfeits(self) -> bool:
        """True for the vault's stop()."""
        return not self.target


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadTerms:
    """Signed terms as the signer reads them.

    Shapes: `signed` is true where their owner signed them; `vault` is the address of the vault that
    they make with these targets, as the signer computed it.
    """

    message: Mapping[str, str]
    targets: Sequence[Target]
    signed: bool
    vault: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadChain:
    """The vault, the result of the very transaction, and the fee, as the signer has read them."""

    vault: VaultState
    simulation: Simulation
    calldata: str
    max_fee: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PurseBill:
    """A bill of a vault's purse that is to be signed."""

    vault: str
    purse: str
    bill: BillTerms


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPurse:
    """The vault and its purse as the signer has read them; `terms` are the purse's limits, `own`
    the addresses of the mandate itself.
    """

    vault: VaultState
    state: PurseState
    terms: PurseTerms
    own: Sequence[str]


def check_bill(request: PurseBill, address: str, terms: ReadTerms, chain: ReadPurse) -> None:
    """Refuse whatever is no bill of the purse of a vault whose terms name the key.

    Errors: SigningRefused.
    """
    _check(_signer_rules(request.vault, address, terms))
    _check(_bill_rules(request, terms, chain))
    _check(_agent_rules(address, chain.vault))


def check_call(call: AgentCall, address: str, terms: ReadTerms, chain: ReadChain) -> None:
    """Refuse whatever is no call of a vault whose terms name the key. Errors: SigningRefused."""
    _check(_terms_rules(call, address, terms))
    _check(_transaction_rules(call, chain))
    _check(_vault_rules(address, chain))


def _check(rules: Iterable[tuple[bool, str]]) -> None:
    for holds, reason in rules:
        if not holds:
            raise SigningRefused(reason)


def _terms_rules(call: AgentCall, address: str, terms: ReadTerms) -> Iterator[tuple[bool, str]]:
    message = terms.message
    yield from _signer_rules(call.vault, address, terms)
    if call.forfeits:
        return
    selector = selector_of(call.data)
    named = any(
        t.kind == "contract"
        and _same(t.address or "", call.target)
        and _same(t.selector or "", selector)
        for t in terms.targets
    )
    yield named, "the terms do not name the call"
    yield call.amount.micros <= int(message["perTxCap"]), "the amount is above the cap per action"


def _signer_rules(vault: str, address: str, terms: ReadTerms) -> Iterator[tuple[bool, str]]:
    yield terms.signed, "the owner of the terms did not sign them"
    yield _same(terms.message["agent"], address), "the terms name another agent"
    yield _same(terms.vault, vault), "the vault is not that of the terms"


def _bill_rules(
    request: PurseBill, terms: ReadTerms, chain: ReadPurse
) -> Iterator[tuple[bool, str]]:
    bill, message, state = request.bill, terms.message, chain.state
    named = any(
        purse_function(chain.terms, t.address or "", t.selector or "") for t in terms.targets
    )
    yield named, "the terms do not name the purse"
    yield _same(request.purse, state.address), "the purse is not that of the vault"
    yield state.exists, "the purse was never opened"
    most = chain.terms.per_payment(Usdc(int(message["perTxCap"])))
    yield ZERO < bill.amount <= most, "the amount is above the most of one payment"
    yield bill.amount <= state.balance, "the purse has less"
    payee, payees = bill.pay_to.lower(), {p.lower() for p in chain.terms.payees}
    yield not payees or payee in payees, "the terms name other payees"
    yield payee not in {a.lower() for a in chain.own}, "the payee is of the mandate itself"
    at = int(state.block.at.timestamp())
    lives = bill.valid_after < bill.valid_before <= bill.valid_after + LONGEST_S
    yield lives and at < bill.valid_before, "the bill's time is over, or longer than an hour"
    yield at < int(message["endsAt"]), "the mandate has ended"
    yield bill.nonce[2:10] == f"{state.epoch:08x}", "the bill is of another epoch"


def _transaction_rules(call: AgentCall, chain: ReadChain) -> Iterator[tuple[bool, str]]:
    sent = call.transaction
    yield _same(sent.to, call.vault), "the transaction goes elsewhere"
    yield sent.value == 0, "the transaction carries coins"
    yield sent.data == chain.calldata, "the transaction is another call"
    yield 0 < sent.gas <= GAS_MOST, "the gas is out of bounds"
    fair = 0 <= sent.tip <= sent.max_fee <= FEE_TIMES * chain.max_fee
    yield fair, "the fee is far above that of the chain"


def _vault_rules(address: str, chain: ReadChain) -> Iterator[tuple[bool, str]]:
    yield from _agent_rules(address, chain.vault)
    yield chain.simulation.ok, "the call would revert"


def _agent_rules(address: str, vault: VaultState) -> Iterator[tuple[bool, str]]:
    yield vault.exists, "there is no such vault"
    yield _same(vault.agent or "", address), "the vault has another agent now"
    yield not (vault.paused or vault.stopped or vault.settled), "the vault is paused or has ended"


def _same(one: str, other: str) -> bool:
    return one.lower() == other.lower()
