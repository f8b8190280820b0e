"""Targets: the entries of `allowed_targets`, an agent's list of allowed calls and venues."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Final, Literal

from domain.mandates.purses import PurseTerms
from domain.wire_fields import LEFT_OUT, SERVICES_LABEL, JsonObject, copy_fields, described

VENUE: Final = "hyperliquid"
"""The venue whose orders are prepared here, and held to an entry before anybody signs them."""

WRITERS: Final = described("as the draft's writer gave it")

EnforcedBy = Literal["Contract", "Service guard", "Venue"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultTarget:
    """The mandate's own vault."""

    kind: Literal["vault"] = "vault"


@dataclass(frozen=True, slots=True, kw_only=True)
class PaidReadTarget:
    """Paid reads, of any host where none is named; `purse` where the mandate pays them."""

    kind: Literal["x402"] = "x402"
    hosts: tuple[str, ...] = field(metadata=WRITERS)
    purse: PurseTerms | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class VenueTarget:
    """A trading venue; every symbol where none is named."""

    kind: Literal["venue"] = "venue"
    venue: str | None = field(metadata=WRITERS)
    symbols: tuple[str, ...] = field(metadata=WRITERS)
    label: str | None = field(metadata=SERVICES_LABEL)
    market: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractTarget:
    """One function of one contract.

    `self_args` are the argument words that must be the vault's own address; `probe` is the
    selector of a view f(holder) that tells what the vault's position is worth, in USDC base units.
    """

    kind: Literal["contract"] = "contract"
    address: str | None
    selector: str | None
    self_args: tuple[int, ...]
    probe: str | None
    label: str | None = field(metadata=SERVICES_LABEL)
    market: str | None


ShownTarget = VaultTarget | PaidReadTarget | ContractTarget | VenueTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class EnforcedVault(VaultTarget):
    """The mandate's own vault, and who enforces that."""

    enforced_by: EnforcedBy


@dataclass(frozen=True, slots=True, kw_only=True)
class EnforcedPaidRead(PaidReadTarget):
    """Paid reads, and who enforces that."""

    enforced_by: EnforcedBy


@dataclass(frozen=True, slots=True, kw_only=True)
class EnforcedVenue(VenueTarget):
    """A trading venue, and who enforces that."""

    enforced_by: EnforcedBy


@dataclass(frozen=True, slots=True, kw_only=True)
class EnforcedContract(ContractTarget):
    """One function of one contract, and who enforces that."""

    enforced_by: EnforcedBy


EnforcedTarget = EnforcedVault | EnforcedPaidRead | EnforcedContract | EnforcedVenue


@dataclass(frozen=True, slots=True)
class Target:
    """One entry of `allowed_targets` (contract 3).

    Shapes: `x402` uses `hosts` and `purse`; `contract` uses address, selector, self_args and probe;
    `venue` uses venue and symbols. `probe` is the selector of a view f(holder) -> USDC base units
    on the same address. Addresses are EIP-55, selectors 0x and 8 lower-case hex digits.
    """

    kind: Literal["vault", "x402", "contract", "venue"]
    address: str | None = None
    selector: str | None = None
    self_args: tuple[int, ...] = ()
    probe: str | None = None
    label: str | None = None
    market: str | None = None
    hosts: tuple[str, ...] = ()
    venue: str | None = None
    symbols: tuple[str, ...] = ()
    purse: PurseTerms | None = None

    def names(self, address: str, selector: str) -> bool:
        """True where the entry is for this function, without regard to case."""
        if self.kind != "contract" or not self.address or not self.selector:
            return False
        own = (self.address.lower(), self.selector.lower())
        return own == (address.lower(), selector.lower())

    def takes(self, market: str) -> bool:
        """True where the entry is of that venue or product, or of paid reads at that host."""
        if self.kind == "venue":
            return market == self.venue or market in self.symbols or not self.symbols
        return self.kind == "x402" and (market in self.hosts if self.hosts else "." in market)

    @property
    def is_traded(self) -> bool:
        """True for the venue whose orders are prepared here."""
        return self.kind == "venue" and self.venue == VENUE

    def as_shown(self) -> ShownTarget:
        """The entry as its kind shows it."""
        return copy_fields(_SHOWN[self.kind], self)

    def as_enforced(self, by: EnforcedBy) -> EnforcedTarget:
        """The entry as its kind shows it, with its enforcer."""
        return copy_fields(_ENFORCED[self.kind], self, enforced_by=by)

    def as_json(self) -> dict[str, object]:
        """The stored form, which `from_json` reads; only the fields that its kind has."""
        raw = asdict(replace(self, purse=None).as_shown())
        raw.pop("purse", None)
        entry = {n: list(v) if isinstance(v, tuple) else v for n, v in raw.items()}
        # Entries without a purse are what was signed before there were any.
        return entry if self.purse is None else entry | {"purse": self.purse.as_json()}

    @classmethod
    def from_json(cls, value: JsonObject) -> Target:
        """Read the wire form back; the caller has validated it."""
        names = {f.name for f in fields(cls)} & value.keys()
        known: JsonObject = {n: tuple(value[n] or ()) if n in _LISTS else value[n] for n in names}
        purse = known.get("purse")
        return cls(**{**known, "purse": None if purse is None else PurseTerms.from_json(purse)})


_LISTS: Final = frozenset({"self_args", "hosts", "symbols"})
_SHOWN: Final[Mapping[str, type[ShownTarget]]] = {
    "vault": VaultTarget,
    "x402": PaidReadTarget,
    "venue": VenueTarget,
    "contract": ContractTarget,
}
_ENFORCED: Final[Mapping[str, type[EnforcedTarget]]] = {
    "vault": EnforcedVault,
    "x402": EnforcedPaidRead,
    "venue": EnforcedVenue,
    "contract": EnforcedContract,
}


def probe_keys(targets: Iterable[Target]) -> tuple[str, ...]:
    """The key of each value probe, in the terms' order: its market, else its address."""
    keys: dict[str, str] = {}
    for t in targets:
        if t.kind == "contract" and t.address is not None and t.selector is not None and t.probe:
            keys.setdefault(t.address.lower(), t.market or t.address.lower())
    return tuple(keys.values())


NOT_LISTED: Final = "is not among the allowed targets"
_SELECTOR: Final = len("0x") + 8
_WORD: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetMismatch:
    """The reason that a call is not on the list: no entry has its function, or an argument word,
    counted from 0, that every entry for it pins to the vault's own address.
    """

    reason: str = NOT_LISTED
    argument: int | None = None


def target_mismatch(
    entries: Iterable[Target], address: str, data: str, vault: str | None
) -> TargetMismatch | None:
    """None for a call that the list allows, by the vault's own rule: pinned argument words are
    compared whole, others may be anything. Without a vault yet, pinned words only have to exist.
    """
    mismatch = TargetMismatch()
    for entry in entries:
        if not entry.names(address, data[:_SELECTOR]):
            continue
        word = _unpinned(entry, data, vault)
        if word is None:
            return None
        mismatch = TargetMismatch(
            reason=f"is allowed with the vault's own address as argument word {word} (counted from "
            f"0) alone, and {'another' if len(_words(data)) > word else 'none'} stands there",
            argument=word,
        )
    return mismatch


def _words(data: str) -> list[str]:
    args = data[_SELECTOR:].lower()
    return [args[at : at + _WORD] for at in range(0, len(args) - _WORD + 1, _WORD)]


def _unpinned(entry: Target, data: str, vault: str | None) -> int | None:
    """The first pinned word that is not the vault's address."""
    words = _words(data)
    own = None if vault is None else vault[len("0x") :].lower().rjust(_WORD, "0")
    for at in sorted(entry.self_args):
        if at >= len(words) or (own is not None and words[at] != own):
            return at
    return None


DEFAULT_TARGETS: Final = (Target("vault"), Target("x402"))
