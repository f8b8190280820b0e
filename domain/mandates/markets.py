"""Markets: the configured list that agents may be allowed into, and the targets of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Final, Literal, get_args

from domain.mandates.market_exits import MarketPosition, Portion
from domain.mandates.target_parsing import confusable_key
from domain.mandates.targets import VENUE, Target
from domain.money import Usdc
from domain.refusals import Refused, invalid, refusal
from domain.wire_fields import JsonObject, copy_fields, described

STATUSES: Final = ("live", "paper", "planned")


@dataclass(frozen=True, slots=True)
class MarketKind:
    """A kind of market: what holds an agent to it, and what an entry needs unless it is planned."""

    enforced_by: Literal["contract", "venue", "guard"]
    needs: tuple[str, ...] = ()


KINDS: Final[Mapping[str, MarketKind]] = {
    "erc4626": MarketKind("contract", ("address",)),
    "aave": MarketKind("contract", ("address", "share_token")),
    "venue": MarketKind("venue", ("venue",)),
    "x402": MarketKind("guard"),
}

# deposit, withdraw and redeem of ERC-4626: the words that must be the vault's own address, the
# signature, pulled amount and report kind.
_TO_OWNER: Final = "address receiver,address owner)"
REDEEM: Final = "0xba087652"
ERC4626: Final = (
    ("0x6e553f65", (1,), "deposit(uint256 assets,address receiver)", "assets", "buy"),
    ("0xb460af94", (1, 2), f"withdraw(uint256 assets,{_TO_OWNER}", "0", "sell"),
    (REDEEM, (1, 2), f"redeem(uint256 shares,{_TO_OWNER}", "0", "sell"),
)
ENCODING: Final = (
    "selector, then each argument in 32 bytes; receiver and owner are the mandate's vault; assets "
    "in base units (6 decimals)"
)
# supply and withdraw of an Aave pool (version 3).
AAVE: Final = (
    (
        "0x617ba037",
        (2,),
        "supply(address asset,uint256 amount,address onBehalfOf,uint16 referralCode)",
        "amount",
        "buy",
    ),
    ("0x69328dec", (2,), "withdraw(address asset,uint256 amount,address to)", "0", "sell"),
)
AAVE_ENCODING: Final = (
    "selector, then each argument in 32 bytes; asset is USDC; onBehalfOf and to are the mandate's "
    "vault; amount in base units (6 decimals); referralCode 0"
)


# The value probes: valueOf(address) of the market's ShareValue, the price of the shares; where none
# is deployed maxWithdraw(address) of the market, the amount withdrawable now, which mistakes a
# squeeze of liquidity for a loss.
VALUE_OF: Final = "0xa48028aa"
MAX_WITHDRAW: Final = "0xce96cb77"
BALANCE_OF: Final = "0x70a08231"

Word = Literal["amount", "shares", "vault", "usdc", "0"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """One call by its function and what each argument is: the amount, the shares, the mandate's
    vault, USDC, or 0. `pulls`: the amount is pulled from the vault, and approved for that.
    `all_of_it`: the amount that means everything, where the market knows one.
    """

    function: str
    words: tuple[Word, ...]
    pulls: bool = False
    all_of_it: int | None = None

    def arguments(self, amount: Usdc | int, vault: str, usdc: str) -> tuple[Usdc | str | int, ...]:
        """The arguments, in the order of the function."""
        values: dict[Word, Usdc | str | int] = {
            "amount": amount,
            "shares": amount,
            "vault": vault,
            "usdc": usdc,
            "0": 0,
        }
        return tuple(values[word] for word in self.words)

    @property
    def in_shares(self) -> bool:
        """True where what is taken is named in shares."""
        return "shares" in self.words

    def quantity(self, portion: Portion, position: MarketPosition) -> int:
        """The quantity of a portion: never more than is owned, and everything for the whole, so
        that nothing stays behind.
        """
        if portion.is_whole and self.all_of_it is not None:
            return self.all_of_it
        return portion.shares(position) if self.in_shares else portion.amount(position)

    def free_quantity(self, position: MarketPosition) -> int | None:
        """The most that the market lets go now; None where it does not say."""
        return position.free_shares if self.in_shares else position.free_amount


Way = Literal["enter", "exit"]
ENTRIES: Final[Mapping[str, Recipe]] = {
    "erc4626": Recipe("deposit(uint256,address)", ("amount", "vault"), pulls=True),
    "aave": Recipe(
        "supply(address,uint256,address,uint16)", ("usdc", "amount", "vault", "0"), pulls=True
    ),
}
# Those of a kind are tried in their order: an amount is named as one where the terms allow that, a
# share of the position as shares.
EXITS: Final[Mapping[str, tuple[Recipe, ...]]] = {
    "erc4626": (
        Recipe("withdraw(uint256,address,address)", ("amount", "vault", "vault")),
        Recipe("redeem(uint256,address,address)", ("shares", "vault", "vault")),
    ),
    "aave": (
        Recipe(
            "withdraw(address,uint256,address)",
            ("usdc", "amount", "vault"),
            all_of_it=2**256 - 1,
        ),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitRecipe:
    """The call by which a market is left, by its function and what each argument is: `amount` in
    USDC, `shares` of the position, the mandate's `vault`, `usdc`, or `0`.
    """

    function: str
    args: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
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
    exit: ExitRecipe | None = field(
        metadata=described(
            "the call by which it is left by its name; null where the markets file has none, and "
            "then only calldata that the agent makes leaves it"
        )
    )


@dataclass(frozen=True, slots=True)
class Market:
    """One market (contract 8)."""

    id: str
    """Its id, by which owners and agents name it; no other market has it."""
    name: str
    """Its name, which owners read before they sign."""
    status: Literal["live", "paper", "planned"]
    """`live`, `paper` (the venue's, without money) or `planned` (shown, and nobody is let in)."""
    enforced_by: Literal["contract", "venue", "guard"]
    """What holds an agent to it, by its kind."""
    chain_id: int | None
    """The EIP-155 number of its chain; without one it is on each chain that is configured."""
    kind: str
    """`erc4626`, `aave` (a pool of version 3), `venue` or `x402` (paid reads)."""
    address: str | None = None
    """The contract that is called."""
    venue: str | None = None
    """The venue's name."""
    symbols: tuple[str, ...] = ()
    """What may be traded at the venue."""
    hosts: tuple[str, ...] = ()
    """Hosts of paid reads; any where none is named."""
    source: str | None = None
    """Where its address was published; who lists it has looked there."""
    share_value: str | None = None
    """The value probe of an ERC-4626 market's shares, which `wallet contracts share-value` deploys;
    without it positions are worth what could be withdrawn now, and a squeeze counts as a loss.
    """
    share_token: str | None = None
    """The token of an Aave pool whose balance is what was supplied."""
    exit: ExitRecipe | Literal["none"] | None = None
    """The call by which positions are left by the market's name, a table of `function` and `args`
    in place of the kind's own; one of the kind's exits, with `amount`, `shares`, `vault`, `usdc` or
    `0` for each argument. `"none"`: it is not left by name, and its owner reads so before signing.
    """

    def entry(self) -> Recipe:
        """The call by which it is entered. Errors: `no_recipe`."""
        recipe = ENTRIES.get(self.kind)
        if recipe is None or self.address is None:
            raise Refused(refusal("no_recipe", market=self.id, way="enter"))
        return recipe

    def exits(self) -> tuple[Recipe, ...]:
        """The calls by which it is left by its name; none where it cannot be."""
        known = EXITS.get(self.kind, ())
        if self.exit == "none" or self.address is None:
            return ()
        if self.exit is None:
            return known
        function, words = self.exit.function, self.exit.args
        return tuple(replace(r, words=words) for r in known if r.function == function)

    def targets(self) -> tuple[Target, ...]:
        """The entries this market stands for."""
        if self.kind == "x402":
            return (Target("x402", hosts=self.hosts),)
        if self.kind == "venue":
            venue = Target("venue", venue=self.venue, symbols=self.symbols)
            return (replace(venue, label=self.name, market=self.id),)
        if self.kind == "aave":
            calls = (self._call(s, own, None, signature) for s, own, signature, *_ in AAVE)
            held = self._entry(self.share_token, BALANCE_OF, (0,), BALANCE_OF, "what is supplied")
            return (*calls, held)
        # Calls name the market itself as their probe where no price of its shares is deployed.
        probe = MAX_WITHDRAW if self.share_value is None else None
        calls = (self._call(s, own, probe, signature) for s, own, signature, *_ in ERC4626)
        if self.share_value is None:
            return tuple(calls)
        # A probe stands on the address of a listed call, and this one is a view that moves nothing.
        value = self._entry(self.share_value, VALUE_OF, (0,), VALUE_OF, "value of its shares")
        return (*calls, value)

    def _call(
        self, selector: str, own: tuple[int, ...], probe: str | None, signature: str
    ) -> Target:
        return self._entry(self.address, selector, own, probe, signature.partition("(")[0])

    def _entry(
        self, address: str | None, selector: str, own: tuple[int, ...], probe: str | None, name: str
    ) -> Target:
        label = f"{self.name}: {name}"
        return Target("contract", address, selector, own, probe, label, self.id)

    def as_shown(self) -> MarketTold:
        """The market as it is shown."""
        at: MarketPlace
        if self.kind == "x402":
            at = PaidHosts(hosts=self.hosts)
        elif self.kind == "venue":
            at = VenueSymbols(venue=self.venue, symbols=self.symbols)
        else:
            rows, how = (AAVE, AAVE_ENCODING) if self.kind == "aave" else (ERC4626, ENCODING)
            calls = (MarketCall(s, signature, how, a, r) for s, _, signature, a, r in rows)
            at = ContractAt(address=self.address, calls=tuple(calls))
        shown = [ExitRecipe(function=r.function, args=r.words) for r in self.exits()]
        return copy_fields(MarketTold, self, target=at, exit=shown[-1] if shown else None)


KEYS: Final = tuple(f.name for f in fields(Market) if f.name != "enforced_by")
_LISTS: Final = ("symbols", "hosts")


def from_config(rows: Iterable[JsonObject]) -> tuple[Market, ...]:
    """Markets of the configuration file. Errors: ValueError, so that no service starts without."""
    markets = []
    for row in rows:
        name, kind = f"market {row.get('id')}", KINDS.get(str(row.get("kind")))
        if unknown := sorted(row.keys() - set(KEYS)):
            raise ValueError(f"{name}: no market has {', '.join(unknown)}")
        if kind is None or row.get("status") not in STATUSES:
            raise ValueError(f"{name}: unknown kind or status")
        needs = ("id", "name", *(kind.needs if row["status"] != "planned" else ()))
        if lacks := [key for key in needs if not row.get(key)]:
            raise ValueError(f"{name}: it needs {' and '.join(lacks)}")
        for key, value in row.items():
            if key == "exit":
                continue
            shape = list if key in _LISTS else int if key == "chain_id" else str
            items = value if isinstance(value, list) else ()
            if type(value) is not shape or not all(isinstance(item, str) for item in items):
                raise ValueError(f"{name}: {key} does not have its form")
        lists = {key: tuple(row.get(key, ())) for key in _LISTS}
        values = {
            "chain_id": None,
            **row,
            **lists,
            "exit": _exit_of(row.get("exit"), row["kind"], name),
        }
        markets.append(Market(enforced_by=kind.enforced_by, **values))
    if len({m.id for m in markets}) != len(markets):
        raise ValueError("a market id occurs twice")
    return tuple(markets)


def _exit_of(raw: object, kind: str, name: str) -> ExitRecipe | Literal["none"] | None:
    """The exit that a row names; one of its kind's, with an argument word for each argument."""
    if raw is None:
        return None
    known = EXITS.get(kind, ())
    if raw == "none" and known:
        return "none"
    form = f'{name}: exit is "none", or function and args of an exit of its kind'
    if not isinstance(raw, Mapping) or set(raw) != {"function", "args"}:
        raise ValueError(form)
    function, words = raw["function"], raw["args"]
    recipe = next((r for r in known if r.function == function), None)
    if recipe is None or not isinstance(words, list | tuple):
        raise ValueError(form)
    if len(words) != len(recipe.words) or any(word not in get_args(Word) for word in words):
        raise ValueError(form)
    if sum(word in ("amount", "shares") for word in words) != 1:
        raise ValueError(f"{name}: exit takes amount or shares once")
    return ExitRecipe(function=recipe.function, args=tuple(words))


def market_of(
    market_id: str, markets: Sequence[Market], chain_id: int, *, field: str = "action.market"
) -> Market:
    """The market of that id on a chain. Errors: `invalid_request` of that field."""
    market = next((m for m in markets if m.id == market_id), None)
    if market is None:
        raise invalid(field, "there is no such market")
    if market.chain_id not in (None, chain_id):
        raise invalid(field, f"it is on chain {market.chain_id}")
    return market


def resolve(ids: Sequence[str], markets: Sequence[Market], chain_id: int) -> tuple[Target, ...]:
    """The targets of some markets. Errors: `invalid_request` for an unknown, planned or far one."""
    by_id = {m.id: m for m in markets}
    targets: list[Target] = []
    for n, market_id in enumerate(ids):
        market = by_id.get(market_id)
        if market is None:
            raise invalid(f"markets.{n}", "there is no such market")
        if market.status == "planned":
            raise invalid(f"markets.{n}", "it is only planned")
        if market.chain_id not in (None, chain_id):
            raise invalid(f"markets.{n}", f"it is on chain {market.chain_id}")
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
    names = [s for s in t.symbols if s in symbols]
    others = len(t.symbols) - len(names)
    if not names:
        return f"{t.venue}: {others} of its products, which this service does not list"
    more = f" and {others} that this service does not list" if others else ""
    return f"{t.venue}: {', '.join(names)}{more}"


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
