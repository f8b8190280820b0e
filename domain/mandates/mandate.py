"""The mandate: its attributes and its clause numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from enum import IntEnum, StrEnum
from typing import Final, Literal

from domain.mandates.purse_entries import purse_of
from domain.mandates.purses import PurseTerms
from domain.mandates.targets import (
    DEFAULT_TARGETS,
    ShownTarget,
    Target,
    TargetMismatch,
    probe_keys,
    target_mismatch,
)
from domain.money import BPS, ZERO, Usdc
from domain.refusals import Refused
from domain.times import Timestamp
from domain.wire_fields import copy_fields, described

MAX_HORIZON_DAYS: Final = 366

# The largest agent's share of the gain that the vault's factory accepts.
MAX_PAYOUT_BPS: Final = 3000
TERMS_GOOD_FOR: Final = timedelta(hours=24)
OPEN_AGENT: Final = "0x0000000000000000000000000000000000000000"


class Status(StrEnum):
    """The state of a mandate (spec 3.1)."""

    DRAFT = "draft"
    SIGNED = "signed"
    WORKING = "working"
    STOPPED = "stopped"
    SETTLED = "settled"
    CANCELLED = "cancelled"


StatusName = Literal["draft", "signed", "working", "stopped", "settled", "cancelled"]


class ClauseKey(IntEnum):
    """The ten clauses; a number is never given to another clause (spec 2.3)."""

    BUDGET = 1
    PER_ACTION = 2
    PER_DAY = 3
    STOP_LINE = 4
    MARKETS = 5
    ASKING = 6
    AT_STOP = 7
    PERIOD = 8
    AGENT_FEE = 9
    YOUR_FLOORS = 10

    @property
    def key(self) -> str:
        """The stable name on the wire."""
        return self.name.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class PayoutRule:
    """The agent's fee: `bps` ten-thousandths of the gain that the vault measured."""

    kind: str
    bps: int


_TARGETS: Final = described(
    "what the agent may deal with; markets_list tells how each call is encoded"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreedTerms:
    """The agreed terms, and the mandate's state. `*_bps` are ten-thousandths, `horizon_days` days
    of 86,400 s; null caps are a legacy row's.
    """

    agent_id: str | None
    agent_name: str | None = field(metadata=described("the owner's name for the agent"))
    open_board: bool
    purpose: str = field(metadata=described("the owner's own words"))
    target_bps: int | None
    markets: tuple[str, ...]
    per_tx_cap_usdc: Usdc | None
    daily_cap_usdc: Usdc | None
    approval_above_usdc: Usdc | None
    chain_id: int
    vault_address: str | None
    status: StatusName
    paused: bool
    provisional: bool = field(
        metadata=described(
            "true while the newest block says another status or pause than the rows that are deep "
            "enough; status, paused and their times are the newest block's"
        )
    )
    proposed_by_agent_id: str | None
    needs_review: bool
    unclear_terms: tuple[str, ...] = field(
        metadata=described(
            "the terms of a draft that its note leaves open: none is given out for signing before "
            "the owner has PUT typed fields; of a purse they are purse, its limits by their names, "
            "payees and hosts, which allowed_targets then leave out"
        )
    )
    created_at: Timestamp
    signed_at: Timestamp | None
    ends_at: Timestamp | None
    accepted_at: Timestamp | None
    paused_at: Timestamp | None
    last_chain_refresh_at: Timestamp | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MandateAttributes(AgreedTerms):
    """A mandate as it is shown (spec 2.2, contract 3)."""

    public_id: str
    budget_usdc: Usdc
    horizon_days: int
    stop_floor_bps: int
    payout_rule: PayoutRule
    allowed_targets: tuple[ShownTarget, ...] = field(metadata=_TARGETS)
    on_floor: Literal["keep", "close"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftAttributes(AgreedTerms):
    """A draft that may not be stored; `public_id` is null where it is not, and so is every term
    that its note leaves open.
    """

    public_id: str | None
    budget_usdc: Usdc | None
    horizon_days: int | None
    stop_floor_bps: int | None
    payout_rule: PayoutRule | None
    allowed_targets: tuple[ShownTarget, ...] | None = field(metadata=_TARGETS)
    on_floor: Literal["keep", "close"] | None


@dataclass(frozen=True, slots=True)
class SignedTerms:
    """The signed terms with their signature; verdicts are recomputed, never stored (contract 4).

    Shapes: `message` is the typed data's message as it was signed (JSON values); `signature` is 0x
    hex.
    """

    version: Literal["1", "2"]
    message: Mapping[str, str]
    chain_id: int
    verifying_contract: str
    signature: str
    signer_type: Literal["eoa", "erc1271", "erc6492"]
    checked_block: int | None


@dataclass(frozen=True, slots=True)
class TermsFrame:
    """The values fixed when the terms are first requested: unix seconds and a 256-bit nonce
    (contract 4).
    """

    issued_at: int
    ends_at: int
    nonce: int


@dataclass(frozen=True, slots=True)
class Mandate:
    """One mandate as stored.

    Units: `*_bps` ten-thousandths; `horizon_days` days of 86,400 s. Null caps are a legacy row
    (spec 2.2).
    `owner_id` and `agent_id` are user ids; `owner_address` and `agent_address` are EIP-55
    addresses.
    `unclear_terms` are the terms that the note of a draft leaves open; their values meanwhile are
    placeholders.
    `provisional` is never stored: it marks a status that the ledger does not have yet.
    `approvals_on_chain` is read from the factory of its terms, None before that: vaults of such a
    factory take an action above the approval amount with the owner's signature alone.
    `differs_at` is since when the vault's own totals are not those of the ledger's rows, None where
    they are.
    `from_board` stays true where the agent took the mandate from the open board, which closed it.
    `accepted_digest` is of the terms that were accepted at `accepted_at`, None of acceptances from
    before it was noted.
    Source: spec 2.2, contract 3.
    """

    public_id: str
    owner_id: str
    owner_address: str
    budget_usdc: Usdc
    horizon_days: int
    stop_floor_bps: int
    created_at: datetime
    agent_id: str | None = None
    agent_name: str | None = None
    agent_address: str | None = None
    open_board: bool = False
    from_board: bool = False
    purpose: str = ""
    target_bps: int | None = None
    payout_kind: str = "share_of_verified_gain"
    payout_bps: int = 1000
    allowed_targets: tuple[Target, ...] = DEFAULT_TARGETS
    per_tx_cap_usdc: Usdc | None = None
    daily_cap_usdc: Usdc | None = None
    approval_above_usdc: Usdc | None = None
    approvals_on_chain: bool | None = None
    on_floor: Literal["keep", "close"] = "keep"
    chain_id: int = 84532
    vault_address: str | None = None
    status: Status = Status.DRAFT
    signed_at: datetime | None = None
    accepted_at: datetime | None = None
    accepted_digest: str | None = None
    stopped_at: datetime | None = None
    settled_at: datetime | None = None
    cancelled_at: datetime | None = None
    paused_at: datetime | None = None
    ends_at: datetime | None = None
    proposed_by_agent_id: str | None = None
    refreshed_at: datetime | None = None
    differs_at: datetime | None = None
    frame: TermsFrame | None = None
    signed: SignedTerms | None = None
    legacy_caps: Mapping[str, object] = field(default_factory=dict)
    needs_review: bool = False
    unclear_terms: tuple[str, ...] = ()
    provisional: bool = False

    @property
    def floor(self) -> Usdc:
        """budget x (1 - stop_floor_bps / 10000), rounded down as the factory does (spec 2.2)."""
        return self.budget_usdc.share_down(BPS - self.stop_floor_bps)

    @property
    def per_tx_cap(self) -> Usdc:
        """The cap per action; of a legacy row its caps entry, else the whole budget (spec 2.2)."""
        return self.per_tx_cap_usdc if self.per_tx_cap_usdc is not None else self._legacy("per_tx")

    @property
    def daily_cap(self) -> Usdc:
        """The cap per UTC day, with the same fallback."""
        return self.daily_cap_usdc if self.daily_cap_usdc is not None else self._legacy("daily")

    def _legacy(self, name: str) -> Usdc:
        """A legacy row's cap; an entry that is unusable reads as 0 (spec 2.1)."""
        stored = self.legacy_caps.get(name)
        try:
            return Usdc.parse(stored) if stored is not None else self.budget_usdc
        except Refused:
            return ZERO

    @property
    def data_issue(self) -> bool:
        """True where a stored legacy cap is unusable, or rows of the vault are missing."""
        unusable = any(v is not None and not _usable(v) for v in self.legacy_caps.values())
        return unusable or self.differs_at is not None

    @property
    def paused(self) -> bool:
        """True while the owner has revoked the agent on a mandate that is still open."""
        return self.paused_at is not None

    @property
    def markets(self) -> tuple[str, ...]:
        """Ids of the markets behind the targets, in order, once each."""
        return tuple(dict.fromkeys(t.market for t in self.allowed_targets if t.market))

    @property
    def probe_keys(self) -> tuple[str, ...]:
        """The key of each value probe of the vault, in the order of the terms."""
        return probe_keys(self.allowed_targets)

    @property
    def purse(self) -> PurseTerms | None:
        """The purse out of which the terms let the agent pay x402 bills; None where they do not."""
        return purse_of(self.allowed_targets)

    @property
    def has_purse(self) -> bool:
        """True where the terms have a purse."""
        return self.purse is not None

    @property
    def closes_at_venue(self) -> bool:
        """True where the keeper is to close what the mandate holds at a venue."""
        return self.on_floor == "close" and any(t.kind == "venue" for t in self.allowed_targets)

    def ended(self, now: datetime) -> bool:
        """True from `ends_at` on: a mandate lives in [signed_at, ends_at) (contract 3)."""
        return self.ends_at is not None and now >= self.ends_at

    def is_open(self, now: datetime) -> bool:
        """True where it is signed, and neither stopped, settled nor ended."""
        return self.status in (Status.SIGNED, Status.WORKING) and not self.ended(now)

    def contract_target(self, address: str, selector: str) -> Target | None:
        """The entry for this function, without regard to case."""
        return next((t for t in self.allowed_targets if t.names(address, selector)), None)

    def mismatch_of(self, address: str, data: str) -> TargetMismatch | None:
        """The mismatch of a call with the allowed targets; None for one that is allowed."""
        return target_mismatch(self.allowed_targets, address, data, self.vault_address)

    def attributes(self) -> MandateAttributes:
        """The stored attributes under their names of spec 2.2, and contract 3's additions."""
        return copy_fields(
            MandateAttributes,
            self,
            payout_rule=PayoutRule(kind=self.payout_kind, bps=self.payout_bps),
            allowed_targets=tuple(t.as_shown() for t in self.allowed_targets),
            status=self.status.value,
            last_chain_refresh_at=self.refreshed_at,
        )

    def draft_attributes(self) -> DraftAttributes:
        """The attributes of a draft that may not be stored, without the terms that are unclear."""
        names = {f.name for f in fields(DraftAttributes)}
        unclear = {term: None for term in self.unclear_terms if term in names}
        public_id = self.public_id or None
        return copy_fields(DraftAttributes, self.attributes(), **unclear, public_id=public_id)


def _usable(value: object) -> bool:
    try:
        Usdc.parse(value)
    except Refused:
        return False
    return True
