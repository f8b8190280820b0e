"""What an agent may deal with: the entries of `allowed_targets`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal


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

    def as_json(self) -> dict[str, Any]:
        """The wire form; only the fields that its kind has."""
        if self.kind == "vault":
            return {"kind": "vault"}
        if self.kind == "x402":
            return {"kind": "x402", "hosts": list(self.hosts)}
        named = {"label": self.label, "market": self.market}
        if self.kind == "venue":
            return {"kind": "venue", "venue": self.venue, "symbols": list(self.symbols)} | named
        return {
            "kind": "contract",
            "address": self.address,
            "selector": self.selector,
            "self_args": list(self.self_args),
            "probe": self.probe,
        } | named

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Target:
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
