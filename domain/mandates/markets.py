"""Markets: what an agent may be let into, and the targets that a market stands for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from domain.mandates.targets import Target
from domain.refusals import invalid
from domain.text import composed, unfit
from domain.wire import JsonObject, said

STATUSES: Final = ("live", "paper", "planned")


MAX_CONTRACT_ENTRIES: Final = 24


# deposit, withdraw and redeem of ERC-4626 with the words that must be the vault's own address, and
# the probe maxWithdraw(address), which says what the vault could take out now.
ERC4626: Final = (
    ("0x6e553f65", (1,), "deposit"),
    ("0xb460af94", (1, 2), "withdraw"),
    ("0xba087652", (1, 2), "redeem"),
)


# How an agent encodes each, and what it reports of it.
_CALLS: Final = (
    ("deposit(uint256 assets,address receiver)", "assets", "buy"),
    ("withdraw(uint256 assets,address receiver,address owner)", "0", "sell"),
    ("redeem(uint256 shares,address receiver,address owner)", "0", "sell"),
)
ENCODING: Final = (
    "selector, then each argument in 32 bytes; receiver and owner are the mandate's vault; assets "
    "in base units (6 decimals)"
)


ERC4626_PROBE: Final = "0xce96cb77"


_SELECTOR: Final = re.compile(r"0x[0-9a-fA-F]{8}")


_KEYS: Final[Mapping[str, frozenset[str]]] = {
    "vault": frozenset({"kind"}),
    "x402": frozenset({"kind", "hosts"}),
    "venue": frozenset({"kind", "venue", "symbols", "label", "market"}),
    "contract": frozenset({"kind", "address", "selector", "self_args", "probe", "label", "market"}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketCall:
    """One call of a market, and how to encode it; `report` is the kind to report it as.

    `approve_amount` says what the call pulls from the vault.
    """

    selector: str
    signature: str
    encoding: str
    approve_amount: str
    report: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractAt:
    """Where a contract market stands, null where it is only planned, and its calls."""

    address: str | None
    calls: tuple[MarketCall, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VenueSymbols:
    """A venue and what may be traded there."""

    venue: str | None
    symbols: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PaidHosts:
    """Hosts of paid reads; any where none is named."""

    hosts: tuple[str, ...] = field(metadata=said("of the service's own markets file"))


MarketPlace = ContractAt | VenueSymbols | PaidHosts


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketTold:
    """One market as it is shown (contract 8)."""

    id: str
    name: str = field(metadata=said("the service's own name for it"))
    status: Literal["live", "paper", "planned"]
    enforced_by: str
    chain_id: int | None
    kind: str
    target: MarketPlace


@dataclass(frozen=True, slots=True)
class Market:
    """One market (contract 8). `kind` is erc4626, venue or x402; `address` is set for contracts."""

    id: str
    name: str
    status: Literal["live", "paper", "planned"]
    enforced_by: str
    chain_id: int | None
    kind: str
    address: str | None = None
    venue: str | None = None
    symbols: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    source: str | None = None

    def targets(self) -> tuple[Target, ...]:
        """The entries this market stands for."""
        if self.kind == "x402":
            return (Target("x402", hosts=self.hosts),)
        if self.kind == "venue":
            return (
                Target(
                    "venue", venue=self.venue, symbols=self.symbols, label=self.name, market=self.id
                ),
            )
        return tuple(
            Target(
                "contract",
                self.address,
                selector,
                words,
                ERC4626_PROBE,
                f"{self.name}: {what}",
                self.id,
            )
            for selector, words, what in ERC4626
        )

    def told(self) -> MarketTold:
        """The market as it is shown."""
        at: MarketPlace
        if self.kind == "x402":
            at = PaidHosts(hosts=self.hosts)
        elif self.kind == "venue":
            at = VenueSymbols(venue=self.venue, symbols=self.symbols)
        else:
            at = ContractAt(address=self.address, calls=_calls())
        return MarketTold(
            id=self.id,
            name=self.name,
            status=self.status,
            enforced_by=self.enforced_by,
            chain_id=self.chain_id,
            kind=self.kind,
            target=at,
        )


def from_config(rows: Iterable[JsonObject]) -> tuple[Market, ...]:
    """Markets out of the configuration file.

    Errors: ValueError for a row that is not one, so that a service does not start with it.
    """
    found = []
    for row in rows:
        kind = row.get("kind")
        if kind not in ("erc4626", "venue", "x402") or row.get("status") not in STATUSES:
            raise ValueError(f"market {row.get('id')}: unknown kind or status")
        if kind == "erc4626" and not row.get("address") and row["status"] != "planned":
            raise ValueError(f"market {row.get('id')}: an address is needed")
        enforced = {"erc4626": "contract", "venue": "venue", "x402": "guard"}[kind]
        found.append(
            Market(
                str(row["id"]),
                str(row["name"]),
                row["status"],
                enforced,
                row.get("chain_id"),
                kind,
                row.get("address"),
                row.get("venue"),
                tuple(row.get("symbols", ())),
                tuple(row.get("hosts", ())),
                row.get("source"),
            )
        )
    if len({m.id for m in found}) != len(found):
        raise ValueError("a market id occurs twice")
    return tuple(found)


def resolve(ids: Sequence[str], markets: Sequence[Market], chain_id: int) -> tuple[Target, ...]:
    """The targets that some markets stand for.

    Errors: `invalid_request` for an unknown market, a planned one, or one of another chain.
    """
    by_id = {m.id: m for m in markets}
    found: list[Target] = []
    for n, market_id in enumerate(ids):
        market = by_id.get(market_id)
        why = (
            "there is no such market"
            if market is None
            else "it is only planned"
            if market.status == "planned"
            else f"it is on chain {market.chain_id}"
            if market.chain_id not in (None, chain_id)
            else None
        )
        if why is not None or market is None:
            raise invalid(f"markets.{n}", why or "")
        found += market.targets()
    return tuple(found)


def named(
    targets: Iterable[Target], markets: Sequence[Market], chain_id: int
) -> tuple[Target, ...]:
    """The entries with the service's own labels: a name that an owner reads before signing is
    never the drafter's.

    A contract call is known by (chain, address, selector), a venue by its name and symbols; what
    is not listed has neither label nor market (contract 3). A listed call that is held less
    tightly than its market says so in its label.
    """
    own = [t for m in markets if m.chain_id in (None, chain_id) for t in m.targets()]
    return tuple(_named(t, own) for t in targets)


def _named(t: Target, own: Sequence[Target]) -> Target:
    listed = next((o for o in own if _place(o) == _place(t)), None)
    if listed is None or listed.label is None:
        return replace(t, label=None, market=None)
    looser = []
    if not set(listed.self_args) <= set(t.self_args):
        looser.append("not held to the vault's own address")
    if t.probe not in (None, listed.probe):
        looser.append(f"valued by {t.probe}")
    label = listed.label + (f" ({'; '.join(looser)})" if looser else "")
    return replace(t, label=label, market=listed.market)


def _place(t: Target) -> tuple[str | None, ...]:
    if t.kind == "venue":
        return (t.kind, t.venue, *t.symbols)
    return (t.kind, (t.address or "").lower(), (t.selector or "").lower())


def validate_targets(entries: Sequence[Any], address: Callable[[str], str]) -> tuple[Target, ...]:
    """Read raw `allowed_targets` (contract 3); addresses leave in EIP-55 form, selectors in lower
    case.

    Errors: `invalid_request`, `invalid_address`.
    """
    found = [_entry(f"allowed_targets.{n}", e, address) for n, e in enumerate(entries)]
    keys = [(t.kind, t.address, t.selector, t.venue) for t in found]
    if len(set(keys)) != len(keys):
        raise invalid("allowed_targets", "an entry occurs twice")
    if sum(t.kind == "contract" for t in found) > MAX_CONTRACT_ENTRIES:
        raise invalid("allowed_targets", f"at most {MAX_CONTRACT_ENTRIES} contract entries")
    return tuple(found)


def _texts(loc: str, value: Any, most: int = 50) -> tuple[str, ...]:
    if value is None:
        return ()
    if (
        not isinstance(value, list)
        or len(value) > most
        or any(not isinstance(v, str) or not 0 < len(v) <= 200 for v in value)
    ):
        raise invalid(loc, f"a list of at most {most} texts")
    return tuple(_line(loc, v) for v in value)


def _line(loc: str, text: str) -> str:
    why = unfit(text, lines=False)
    if why is not None:
        raise invalid(loc, why)
    return composed(text)


def _text(loc: str, value: Any) -> str | None:
    if value is not None and (not isinstance(value, str) or len(value) > 200):
        raise invalid(loc, "a text of at most 200 characters")
    return None if value is None else _line(loc, value)


def _entry(loc: str, entry: Any, address: Callable[[str], str]) -> Target:
    kind = entry.get("kind") if isinstance(entry, Mapping) else None
    if not isinstance(kind, str) or kind not in _KEYS:
        raise invalid(f"{loc}.kind", "vault, x402, contract or venue")
    unknown = sorted(set(entry) - _KEYS[kind])
    if unknown:
        raise invalid(f"{loc}.{unknown[0]}", f"not a field of a {kind} entry")
    if kind == "vault":
        return Target("vault")
    if kind == "x402":
        return Target("x402", hosts=_texts(f"{loc}.hosts", entry.get("hosts")))
    label, market = (
        _text(f"{loc}.label", entry.get("label")),
        _text(f"{loc}.market", entry.get("market")),
    )
    if kind == "venue":
        venue = _text(f"{loc}.venue", entry.get("venue"))
        if not venue:
            raise invalid(f"{loc}.venue", "the venue's name")
        return Target(
            "venue",
            venue=venue,
            symbols=_texts(f"{loc}.symbols", entry.get("symbols")),
            label=label,
            market=market,
        )
    return Target(
        "contract",
        address(entry.get("address")),
        _selector(f"{loc}.selector", entry.get("selector")),
        _words(f"{loc}.self_args", entry.get("self_args")),
        _selector(f"{loc}.probe", entry["probe"]) if entry.get("probe") is not None else None,
        label,
        market,
    )


def _selector(loc: str, value: Any) -> str:
    if not isinstance(value, str) or not _SELECTOR.fullmatch(value):
        raise invalid(loc, "0x and 8 hex digits")
    return value.lower()


def _words(loc: str, value: Any) -> tuple[int, ...]:
    if value is None:
        return ()
    if (
        not isinstance(value, list)
        or any(type(v) is not int or not 0 <= v <= 31 for v in value)
        or len(set(value)) != len(value)
    ):
        raise invalid(loc, "distinct argument positions from 0 to 31")
    return tuple(sorted(value))


def _calls() -> tuple[MarketCall, ...]:
    """The calls of an ERC-4626 market."""
    return tuple(
        MarketCall(
            selector=selector,
            signature=signature,
            encoding=ENCODING,
            approve_amount=pulled,
            report=kind,
        )
        for (selector, _, _), (signature, pulled, kind) in zip(ERC4626, _CALLS, strict=True)
    )
