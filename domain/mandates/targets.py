"""What an agent may deal with: the entries of `allowed_targets`."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Final, Literal

from domain.wire import SERVICES_LABEL, JsonObject, said

VENUE: Final = "hyperliquid"
"""The venue whose orders are prepared here, and held to an entry before anybody signs them."""

EnforcedBy = Literal["Contract", "Service guard", "Venue"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultTarget:
    """The mandate's own vault."""

    kind: Literal["vault"] = "vault"


@dataclass(frozen=True, slots=True, kw_only=True)
class PaidReadTarget:
    """Paid reads; of any host where none is named."""

    kind: Literal["x402"] = "x402"
    hosts: tuple[str, ...] = field(metadata=said("as the draft's writer gave them"))


@dataclass(frozen=True, slots=True, kw_only=True)
class VenueTarget:
    """A trading venue; every symbol where none is named."""

    kind: Literal["venue"] = "venue"
    venue: str | None
    symbols: tuple[str, ...]
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

    Shapes: `vault` and `x402` use `hosts`; `contract` uses address, selector, self_args and probe;
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

    def shown(self) -> ShownTarget:
        """The entry as its kind shows it."""
        if self.kind == "vault":
            return VaultTarget()
        if self.kind == "x402":
            return PaidReadTarget(hosts=self.hosts)
        if self.kind == "venue":
            return VenueTarget(
                venue=self.venue, symbols=self.symbols, label=self.label, market=self.market
            )
        return ContractTarget(
            address=self.address,
            selector=self.selector,
            self_args=self.self_args,
            probe=self.probe,
            label=self.label,
            market=self.market,
        )

    def as_json(self) -> dict[str, object]:
        """The stored form, which `from_json` reads; only the fields that its kind has."""
        told = asdict(self.shown())
        return {n: list(v) if isinstance(v, tuple) else v for n, v in told.items()}

    @classmethod
    def from_json(cls, value: JsonObject) -> Target:
        """Read the wire form back; the caller has validated it."""
        return cls(
            kind=value["kind"],
            address=value.get("address"),
            selector=value.get("selector"),
            self_args=tuple(value.get("self_args") or ()),
            probe=value.get("probe"),
            label=value.get("label"),
            market=value.get("market"),
            hosts=tuple(value.get("hosts") or ()),
            venue=value.get("venue"),
            symbols=tuple(value.get("symbols") or ()),
        )


DEFAULT_TARGETS: Final = (Target("vault"), Target("x402"))
