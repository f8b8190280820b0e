"""Snapshot loader: reads everything that a handler needs of one mandate."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from weakref import WeakValueDictionary

from domain.chain_facts import (
    BlockStamp,
    Call,
    PurseFacts,
    Receipt,
    SignerCheck,
    Simulation,
    StagedLog,
    VaultState,
)
from domain.mandates.bills import Bill
from domain.mandates.mandate import Mandate, Status
from domain.mandates.terms import TermsStatus, agrees, typed_data
from domain.money import ZERO
from domain.ports import Chain, Clock
from domain.refusals import Refused
from domain.rules.snapshot import MandateSnapshot, OrdersToday
from domain.rules.status_derivation import apply_newest_block
from domain.rules.venue_exposure import at_venue
from domain.times import day_of, moment_of
from domain.trading.modes import live_network
from domain.trading.venue_account import usable
from storage.unit_of_work import UnitOfWork
from tools.context.access import load_mandate
from tools.context.venue_marks import venue_marks
from tools.model.fields import OneMandate
from tools.model.operation import AnyContext, Caller, Deps

CHAIN_EVENTS = 50


@dataclass(frozen=True, slots=True)
class GatheredFacts:
    """Facts gathered from the chain and the venue before the transaction."""

    vault: VaultState | None = None
    signer: SignerCheck | None = None
    signed_message: str | None = None
    receipt: Receipt | None = None
    simulation: Simulation | None = None
    marks: Mapping[str, Mapping[str, Decimal]] = field(default_factory=dict)
    node_failed: bool = False
    complete: BlockStamp | None = None

    @property
    def now(self) -> GatheredFacts:
        """Without what a vault said last, where it could not be asked just now."""
        late = self.vault is not None and self.vault.last_known
        return replace(self, vault=None) if late else self


def chain_or_none(deps: Deps | AnyContext, mandate: Mandate) -> Chain | None:
    """The mandate's chain, None where no setting names it; inside a handler only its pure methods
    may be used.
    """
    try:
        return deps.chains.get(mandate.chain_id)
    except Refused:
        return None


_Vault = tuple[int, str]


class PageVaultCache:
    """Vault states read a moment ago, for pages that refresh by themselves."""

    def __init__(self, clock: Clock, seconds: int):
        self._clock, self._for = clock, timedelta(seconds=seconds)
        self._kept: dict[_Vault, tuple[datetime, VaultState]] = {}
        self._reading: WeakValueDictionary[_Vault, asyncio.Lock] = WeakValueDictionary()

    def one_reads(self, key: _Vault) -> asyncio.Lock:
        """Held by who reads a vault, while others wait for what is found."""
        return self._reading.setdefault(key, asyncio.Lock())

    def get(self, key: _Vault) -> VaultState | None:
        """The cached state, if it is young enough."""
        entry = self._kept.get(key)
        return entry[1] if entry and self._clock.now() - entry[0] < self._for else None

    def put(self, key: _Vault, state: VaultState) -> None:
        """Keep what was read; what is too old goes."""
        now = self._clock.now()
        self._kept = {k: v for k, v in self._kept.items() if now - v[0] < self._for}
        self._kept[key] = (now, state)


@dataclass(frozen=True, slots=True)
class _Reads:
    """The vaults of one page; `use_cached`: it was shown before, and may be a moment old."""

    own: dict[_Vault, VaultState | None]
    cache: PageVaultCache | None
    use_cached: bool

    async def of(self, chain: Chain, address: str) -> VaultState | None:
        key = (chain.chain_id, address)
        if key not in self.own:
            self.own[key] = await self._shared(chain, key)
        return self.own[key]

    async def _shared(self, chain: Chain, key: _Vault) -> VaultState | None:
        if self.cache is None:
            return await _vault(chain, key[1])
        lock = self.cache.one_reads(key)
        async with lock:
            vault = self.cache.get(key) if self.use_cached else None
            if vault is None and (vault := await _vault(chain, key[1])) is not None:
                self.cache.put(key, vault)
        return vault


_READ: ContextVar[_Reads | None] = ContextVar("_READ", default=None)


@contextmanager
def one_read_per_vault(
    cache: PageVaultCache | None = None, *, use_cached: bool = False
) -> Iterator[None]:
    """Read each vault once within the block: an answer of several reads is of one block, and costs
    one read. With `cache`, a read is kept for other callers, and a caller with `use_cached` takes a
    recent one.
    """
    token = _READ.set(_Reads({}, cache, use_cached))
    try:
        yield
    finally:
        _READ.reset(token)


async def vault_if_readable(chain: Chain | None, mandate: Mandate) -> VaultState | None:
    """The vault at the newest block; None where it cannot be read in time. A read never fails
    because of the chain.
    """
    if chain is None or not chain.rpc_set or mandate.vault_address is None:
        return None
    reads = _READ.get()
    if reads is None:
        return await _vault(chain, mandate.vault_address)
    return await reads.of(chain, mandate.vault_address)


async def vault_or_last_known(chain: Chain | None, mandate: Mandate) -> VaultState | None:
    """Read the vault; its last known state where it cannot be read in time."""
    state = await vault_if_readable(chain, mandate)
    if state is None and chain is not None and chain.rpc_set and mandate.vault_address is not None:
        return chain.last_known(mandate.vault_address)
    return state


async def _vault(chain: Chain, address: str) -> VaultState | None:
    try:
        with chain.short_deadline():
            return (await chain.vault_states([address], agreed=True))[address]
    except Refused:
        return None


async def simulation_if_readable(chain: Chain, call: Call) -> Simulation | None:
    """Simulate a call now; None where the chain cannot be read in time, from which no refusal
    follows.

    Who is handed something to send waits as long as a request may; a node that was given up before
    in the same request is not asked.
    """
    try:
        return await chain.simulate(call)
    except Refused:
        return None


def signed_digest(chain: Chain, mandate: Mandate) -> str | None:
    """The digest of the terms as they were signed."""
    s = mandate.signed
    if s is None:
        return None
    return chain.digest(typed_data(s.message, s.version, s.chain_id, s.verifying_contract))


def signed_vault(chain: Chain, mandate: Mandate) -> str | None:
    """The address, present or predicted, of the vault of the signed terms; None for terms that
    have none.

    It follows from the terms alone: what anybody says of another address is wrong.
    """
    s, digest = mandate.signed, signed_digest(chain, mandate)
    if s is None or digest is None or s.version != "2":
        return None
    return chain.vault_address(s.verifying_contract, s.message, mandate.allowed_targets, digest)


def signed_purse(chain: Chain, mandate: Mandate) -> PurseFacts | None:
    """The place of the purse of the signed terms, present or predicted; None for terms that have
    none.

    It follows from the terms alone, as the vault's place does: no log has to tell of it.
    """
    s, digest, purse = mandate.signed, signed_digest(chain, mandate), mandate.purse
    vault = signed_vault(chain, mandate)
    if s is None or digest is None or purse is None or vault is None:
        return None
    keeps = bool(mandate.approvals_on_chain)
    address = chain.purse_address(s.message, vault, digest, purse, keeps_approvals=keeps)
    return PurseFacts(address.lower(), purse.hub.lower(), vault.lower())


async def signature_now(chain: Chain | None, mandate: Mandate) -> SignerCheck | None:
    """Recompute who signed. A contract wallet was asked at a block that is kept, so that rotating
    its keys later does not change what history says (contract 4).
    """
    if chain is None or mandate.signed is None:
        return None
    if mandate.signed.signer_type != "eoa":
        return SignerCheck(mandate.signed.signer_type, mandate.signed.checked_block)
    digest, signature = signed_digest(chain, mandate), mandate.signed.signature
    if digest is None:
        return None
    return await chain.check_signature(digest, signature, mandate.owner_address)


async def gather_mandate(
    deps: Deps, caller: Caller, request: OneMandate, *, signed: bool = False
) -> GatheredFacts:
    """Read a mandate's vault from the chain; `signed`: the signer, which only the status of the
    terms needs.
    """
    return await gather_facts(
        deps, await load_mandate(deps, caller, request.public_id), signed=signed
    )


async def gather_facts(deps: Deps, mandate: Mandate, *, signed: bool = False) -> GatheredFacts:
    """As `gather_mandate`, of a mandate that is loaded."""
    chain = chain_or_none(deps, mandate)
    return GatheredFacts(
        vault=await vault_or_last_known(chain, mandate),
        node_failed=chain is not None and chain.node_problem is not None,
        complete=None if chain is None else chain.complete,
        signer=await signature_now(chain, mandate) if signed else None,
        marks=await venue_marks(deps, mandate),
    )


def terms_status(mandate: Mandate, chain: Chain | None, facts: GatheredFacts) -> TermsStatus | None:
    """The status of the signed terms of every non-draft mandate; computed, never stored."""
    if mandate.status is Status.DRAFT:
        return None
    s = mandate.signed
    if s is None or chain is None:
        return TermsStatus(signed=s is not None, version=s.version if s else None)
    targets = mandate.allowed_targets
    allowed, guard = chain.targets_hash(targets), chain.guard_hash(targets)
    return TermsStatus(
        signed=True,
        version=s.version,
        digest_matches=agrees(mandate, s.message, allowed, guard),
        signer_matches=facts.signer is not None,
        signer_type=s.signer_type,
        checked_block=s.checked_block,
    )


def require_chain(ctx: AnyContext, mandate: Mandate) -> Chain:
    """The mandate's chain, which the operation cannot do without.

    Errors: `not_configured`.
    """
    return ctx.chains.get(mandate.chain_id)


def staged_logs(uow: UnitOfWork, mandate: Mandate) -> tuple[StagedLog, ...]:
    """The vault's logs that are not deep enough to be ledger rows, in chain order."""
    if mandate.vault_address is None:
        return ()
    return tuple(
        StagedLog(
            name=str(s.body.get("name")),
            address=s.address,
            mandate=s.body.get("mandate"),
            args=s.body.get("args") or {},
            at=moment_of(s.body.get("at")),
            block=s.block_number,
            tx_hash=s.tx_hash,
        )
        for s in uow.chainlog.staged_of(mandate.public_id)
    )


def load_snapshot(
    uow: UnitOfWork,
    ctx: AnyContext,
    mandate: Mandate,
    facts: GatheredFacts | None = None,
    *,
    events: int = CHAIN_EVENTS,
    terms: bool = False,
    payments: int = 0,
) -> MandateSnapshot:
    """Everything the derivations look at, by a bounded number of queries. `terms`: compare what was
    signed, by `facts` that were gathered for it; hashing it costs more than all the rest.
    `payments`: so many rows of the newest payments too.
    """
    facts = facts or GatheredFacts()
    vault, asks = mandate.vault_address, mandate.approval_above_usdc is not None
    # Calldata is only handed out for a vault, and only where the owner is asked can an approval be
    # open.
    staged = staged_logs(uow, mandate)
    read = apply_newest_block(mandate, facts.vault, staged)
    purses = uow.chainlog.purses_of(mandate.public_id) if mandate.has_purse else ()
    pending = (
        uow.approvals.pending(mandate.public_id, ctx.now) if asks and read.is_open(ctx.now) else ()
    )
    state = uow.ledger.state(mandate.public_id)
    paid = list(state.measured.purse.newest.values())[::-1][:payments]
    return MandateSnapshot(
        mandate=read,
        state=state,
        now=ctx.now,
        config=ctx.config,
        switches=ctx.switches,
        events=uow.ledger.newest(mandate.public_id, events) if events else (),
        chain=facts.vault,
        approvals=(*pending, *uow.approvals.approved(mandate.public_id, ctx.now)) if asks else (),
        reservations=tuple(uow.reservations.live(mandate.public_id, ctx.now)) if vault else (),
        policy=uow.policies.of_mandate(mandate.public_id) if mandate.agent_id else None,
        provisional=staged,
        terms_status=terms_status(mandate, chain_or_none(ctx, mandate), facts) if terms else None,
        keeper_key=keeper_key(uow, ctx, mandate),
        orders=orders_today(uow, ctx, mandate) if at_venue(mandate) else OrdersToday(),
        marks=facts.marks,
        wrong_chain=facts.node_failed,
        complete=facts.complete,
        purse=replace(purses[0], address=ctx.chains.address(purses[0].address)) if purses else None,
        open_bills=_open_bills(uow, ctx, mandate, staged) if purses else (),
        payments=uow.ledger.named(mandate.public_id, [p.event_id for p in paid]),
    )


def _open_bills(
    uow: UnitOfWork, ctx: AnyContext, mandate: Mandate, staged: Sequence[StagedLog]
) -> tuple[Bill, ...]:
    """The bills that may still be paid: a log that makes them void counts before it is deep."""
    voided = (g.args["epoch"] for g in staged if g.name == "PurseVoided")
    epoch = max((n for n in voided if isinstance(n, int)), default=0)
    return tuple(b for b in uow.bills.open(mandate.public_id, ctx.now) if b.epoch >= epoch)


def keeper_key(uow: UnitOfWork, ctx: AnyContext, mandate: Mandate) -> bool:
    """Whether the mandate's owner approved a key that closes at the venue; asked only where that
    matters.
    """
    if not mandate.closes_at_venue:
        return False
    link = uow.venue.link_of(mandate.owner_id, live_network(ctx.switches))
    key = uow.venue.key_in_use(link.link_id, "keeper") if link is not None else None
    return usable(key, None, ctx.now)


def orders_today(uow: UnitOfWork, ctx: AnyContext, mandate: Mandate) -> OrdersToday:
    """The notional that a mandate's orders count against the UTC day."""
    counted = uow.orders.counted_of_mandate(mandate.public_id, day_of(ctx.now))
    live, filled = counted.get("live", (ZERO, ZERO))
    paper, _ = counted.get("paper", (ZERO, ZERO))
    return OrdersToday(live=live, filled=filled, paper=paper)
