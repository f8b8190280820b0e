"""Markets: the configured list that agents may be allowed into, and the targets of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from domain.mandates.target_parsing import confusable_key
from domain.mandates.targets import VENUE, Target
from domain.refusals import invalid
from domain.wire_fields import JsonObject, copy_fields, described

STATUSES: Final = ("live", "paper", "planned")

# deposit, withdraw and redeem of ERC-4626 with the words that must be the vault's own address.
ERC4626: Final = (
    ("0x6e553f65", (1,), "deposit"),
    ("0xb460af94", (1, 2), "withdraw"),
    ("0xba087652", (1, 2), "redeem"),
)

# The signature, pulled amount and report kind of each of these calls.
_CALLS: Final = (
    ("deposit(uint256 assets,address receiver)", "assets", "buy"),
    ("withdraw(uint256 assets,address receiver,address owner)", "0", "sell"),
    ("redeem(uint256 shares,address receiver,address owner)", "0", "sell"),
)
ENCODING: Final = (
    "selector, then each argument in 32 bytes; receiver and owner are the mandate's vault; assets "
    "in base units (6 decimals)"
)

# The value probes: valueOf(address) of the market's ShareValue, the price of the shares; where none
# is deployed maxWithdraw(address) of the market, the amount withdrawable now, which mistakes a
# squeeze of liquidity for a loss.
VALUE_OF: Final = "0xa48028aa"
MAX_WITHDRAW: Final = "0xce96cb77"


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
    """The address of a contract market, null where it is only planned, and its calls."""

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

    hosts: tuple[str, ...] = field(metadata=described("of the service's own markets file"))


MarketPlace = ContractAt | VenueSymbols | PaidHosts


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketTold:
    """One market as it is shown (contract 8)."""

    id: str
    name: str = field(metadata=described("the service's own name for it"))
    status: Literal["live", "paper", "planned"]
    enforced_by: str
    chain_id: int | None
    kind: str
    target: MarketPlace


@dataclass(frozen=True, slots=True)
class Market:
    """One market (contract 8). `kind` is erc4626, venue or x402; `address` is set for contracts,
    and `share_value` where the value probe of its shares is deployed.
    """

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
    share_value: str | None = None

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
        probe = MAX_WITHDRAW if self.share_value is None else None
        calls = tuple(
            Target(
                "contract",
                self.address,
                selector,
                argument_words,
                probe,
                f"{self.name}: {call_name}",
                self.id,
            )
            for selector, argument_words, call_name in ERC4626
        )
        return calls if self.share_value is None else (*calls, self._value(self.share_value))

    def _value(self, share_value: str) -> Target:
        """The entry that signs the value probe, which stands on the address of a listed call."""
        label = f"{self.name}: value of its shares"
        return Target("contract", share_value, VALUE_OF, (0,), VALUE_OF, label, self.id)

    def as_shown(self) -> MarketTold:
        """The market as it is shown."""
        at: MarketPlace
        if self.kind == "x402":
            at = PaidHosts(hosts=self.hosts)
        elif self.kind == "venue":
            at = VenueSymbols(venue=self.venue, symbols=self.symbols)
        else:
            at = ContractAt(address=self.address, calls=_calls())
        return copy_fields(MarketTold, self, target=at)


def from_config(rows: Iterable[JsonObject]) -> tuple[Market, ...]:
    """Markets of the configuration file. Errors: ValueError, so that no service starts without."""
    markets = []
    for row in rows:
        kind = row.get("kind")
        if kind not in ("erc4626", "venue", "x402") or row.get("status") not in STATUSES:
            raise ValueError(f"market {row.get('id')}: unknown kind or status")
        if kind == "erc4626" and not row.get("address") and row["status"] != "planned":
            raise ValueError(f"market {row.get('id')}: an address is needed")
        enforced = {"erc4626": "contract", "venue": "venue", "x402": "guard"}[kind]
        markets.append(
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
                row.get("share_value"),
            )
        )
    if len({m.id for m in markets}) != len(markets):
        raise ValueError("a market id occurs twice")
    return tuple(markets)


def resolve(ids: Sequence[str], markets: Sequence[Market], chain_id: int) -> tuple[Target, ...]:
    """The targets of some markets. Errors: `invalid_request` for an unknown, planned or far one."""
    by_id = {m.id: m for m in markets}
    targets: list[Target] = []
    for n, market_id in enumerate(ids):
        market = by_id.get(market_id)
        problem = (
            "there is no such market"
            if market is None
            else "it is only planned"
            if market.status == "planned"
            else f"it is on chain {market.chain_id}"
            if market.chain_id not in (None, chain_id)
            else None
        )
        if problem is not None or market is None:
            raise invalid(f"markets.{n}", problem or "")
        targets += market.targets()
    return tuple(targets)


def label_targets(
    targets: Iterable[Target], markets: Sequence[Market], chain_id: int
) -> tuple[Target, ...]:
    """The entries with the service's own labels: a name that an owner reads before signing is
    never the drafter's.

    A contract call is known by (chain, address, selector), a venue by its name and symbols; what
    is not listed has neither label nor market (contract 3). A listed call that is held less
    tightly than its market says so in its label.
    Errors: `invalid_request` for a venue that can be taken for a known one, or for a market.
    """
    entries = tuple(targets)
    for n, t in enumerate(entries):
        lookalike = _taken_for(t, markets)
        if lookalike is not None:
            raise invalid(f"allowed_targets.{n}.venue", f"it can be taken for {lookalike}")
    own = [t for m in markets if m.chain_id in (None, chain_id) for t in m.targets()]
    return tuple(_with_label(t, own) for t in entries)


def _taken_for(t: Target, markets: Sequence[Market]) -> str | None:
    """The service's own name that a venue's name can be mistaken for; None where there is none."""
    if t.venue is None:
        return None
    venues = {VENUE, *(m.venue for m in markets if m.venue is not None)}
    if t.venue in venues:
        return None
    names = {m.name for m in markets} | {o.label or "" for m in markets for o in m.targets()}
    key = confusable_key(t.venue)
    return next((name for name in sorted(venues | names) if confusable_key(name) == key), None)


def _products(t: Target, own: Sequence[Target]) -> str | None:
    """The label of an entry of a listed venue: its listed products by symbol, and the number of
    others; None for another venue. An unlisted symbol is the drafter's text, and only the entry
    shows it.
    """
    listed = [o for o in own if o.kind == "venue" and o.venue == t.venue]
    if t.kind != "venue" or not listed or not t.symbols:
        return None
    symbols = {s for o in listed for s in o.symbols}
    listed_symbols = [s for s in t.symbols if s in symbols]
    unlisted_count = len(t.symbols) - len(listed_symbols)
    if not listed_symbols:
        return f"{t.venue}: {unlisted_count} of its products, which this service does not list"
    text = f"{t.venue}: {', '.join(listed_symbols)}"
    return text + (
        f" and {unlisted_count} that this service does not list" if unlisted_count else ""
    )


def _with_label(t: Target, own: Sequence[Target]) -> Target:
    listed = next((o for o in own if _identity(o) == _identity(t)), None)
    if listed is None or listed.label is None:
        return replace(t, label=_products(t, own), market=None)
    looser = []
    if not set(listed.self_args) <= set(t.self_args):
        looser.append("not held to the vault's own address")
    if t.probe not in (None, listed.probe):
        looser.append(f"valued by {t.probe}")
    label = listed.label + (f" ({'; '.join(looser)})" if looser else "")
    return replace(t, label=label, market=listed.market)


def _identity(t: Target) -> tuple[str | None, ...]:
    if t.kind == "venue":
        return (t.kind, t.venue, *t.symbols)
    return (t.kind, (t.address or "").lower(), (t.selector or "").lower())


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
