"""A call of a contract: by its calldata, or the exit of a market by its name, made out of the
position that the vault really has there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pydantic import Field

from domain.chain_facts import Call, Simulation
from domain.mandates.actions import selector_of
from domain.mandates.mandate import Mandate
from domain.mandates.market_exits import MarketPosition, Portion
from domain.mandates.markets import REDEEM, Market, Recipe, from_config, market_of
from domain.mandates.purse_entries import purse_of
from domain.mandates.purses import PurseFunction
from domain.money import BPS, LIMIT_MICROS, ZERO, Usdc
from domain.next_steps import OWNER_OR_AGENT, NextStep
from domain.ports import Chain
from domain.refusals import Refused, invalid, refusal
from domain.rules.snapshot import MandateSnapshot
from domain.rules.valuation import valuation
from tools.context.access import wrong_status
from tools.model.fields import Address, HexData, OneMandate
from tools.model.operation import Deps, ResponseModel

MarketName = Field(
    default=None, max_length=64, description="in place of target and data: market to leave"
)
ShareBps = Field(
    default=None,
    ge=1,
    le=BPS,
    description="with market: ten-thousandths of it; 10000 is all",
)
AmountUsdc = Field(default=None, description="with market, in place of share_bps")


BY_NAME_REFUSALS: Final = ("no_recipe", "no_position")


class CallIn(OneMandate):
    """A call of a listed contract, or a market that is left by its name."""

    target: Address | None = None
    data: HexData | None = None
    market: str | None = MarketName
    share_bps: int | None = ShareBps
    amount_usdc: Usdc | None = AmountUsdc


class ExitOut(ResponseModel):
    """A market left by its name: what is taken out, and what it is estimated to bring."""

    market: str
    name: str = Field(description="the service's own name for it")
    whole: bool = Field(description="true where nothing of the position stays")
    held_back: bool = Field(
        description="true where the market lets go only this much now: ask for the rest later"
    )
    value_est: Usdc | None = Field(description="what is taken is worth")
    returned_est: Usdc | None = Field(
        description="USDC that comes back: measured by the vault where it says so, else the "
        "market's own word"
    )
    loss_est: Usdc | None = Field(description="value_est less returned_est, where that is a loss")
    stays_est: Usdc | None = Field(description="what stays in the market is worth")
    fair: bool | None = Field(
        default=None,
        description="whether the vault finds that it brings 98% of what is given up, by the larger "
        "of the value now and the recorded one; null where it was not asked",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketExit:
    """The exit of a market: `taken` of `owned`, None where the position was not read; `said` is
    what the market answers to it.
    """

    market: Market
    amount: Usdc | None
    taken: int = 0
    owned: int | None = None
    value: Usdc | None = None
    held_back: bool = False
    said: Usdc | None = None

    def value_of_taken(self, whole: Usdc | None) -> Usdc | None:
        """The value of what is taken, of a position that is worth `whole`; None is unknown."""
        if self.owned and whole is not None:
            return Usdc(whole.micros * self.taken // self.owned)
        return self.amount

    def shown(
        self,
        snapshot: MandateSnapshot,
        *,
        measured: Usdc | None = None,
        fair: bool | None = None,
    ) -> ExitOut:
        """The exit with its estimates, by the value that the vault's own probe gives."""
        valued = valuation(snapshot).positions.get(self.market.id)
        whole_value = self.value if valued is None else Usdc(valued.value)
        value = self.value_of_taken(whole_value)
        back = measured if measured is not None else self.said
        knows_both = value is not None and back is not None
        return ExitOut(
            market=self.market.id,
            name=self.market.name,
            whole=self.owned is not None and self.taken == self.owned,
            held_back=self.held_back,
            value_est=value,
            returned_est=back,
            loss_est=max(ZERO, value - back) if knows_both and value and back is not None else None,
            stays_est=None
            if whole_value is None or value is None
            else max(ZERO, whole_value - value),
            fair=fair,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractCall:
    """A call of a contract; `exit` is set where it leaves a market by its name."""

    target: str
    data: str
    exit: MarketExit | None = None


async def requested_calls(
    deps: Deps, mandate: Mandate, request: CallIn
) -> tuple[ContractCall, ...]:
    """The call that is asked for; of an exit by name all that may be tried, the first one first.

    Errors: `invalid_request`, `invalid_address`, `no_recipe`, `no_position`, `wrong_status`,
    `chain_unavailable`.
    """
    portion = _portion(request)
    if portion is None or request.market is None:
        for name in ("target", "data"):
            if getattr(request, name) is None:
                raise invalid(
                    name,
                    "exactly one of: target and data; market and share_bps or amount_usdc",
                )
        return (
            ContractCall(target=deps.chains.address(request.target or ""), data=request.data or ""),
        )
    market = market_of(
        request.market, from_config(deps.config.markets), mandate.chain_id, field="market"
    )
    if not market.exits():
        raise Refused(refusal("no_recipe", market=market.id, way="exit", next=(_CALLDATA,)))
    address = deps.chains.address(market.address or "")
    if request.target is not None and deps.chains.address(request.target) != address:
        raise invalid("target", f"market {market.id} is at {address}; leave it out")
    if mandate.vault_address is None:
        raise wrong_status(mandate, "leaving a market")
    exits = _Exits(deps.chains.get(mandate.chain_id), mandate, market, address, portion)
    return await exits.calls()


def markets_of(mandate: Mandate, markets: Iterable[Market]) -> tuple[Market, ...]:
    """The markets of some terms that are left by their name."""
    named = {t.market for t in mandate.allowed_targets}
    return tuple(m for m in markets if m.id in named and m.exits())


def leavable(mandate: Mandate, markets: Sequence[Market]) -> tuple[Market, ...]:
    """The markets of some terms whose exit the service knows: those of the markets file, and at an
    address that stands in no file what the terms list as an exit of ERC-4626.
    """
    filed = {m.address.lower() for m in markets if m.address}
    unfiled = {
        t.address: Market(
            id=t.address,
            name=t.address,
            status="live",
            enforced_by="contract",
            chain_id=mandate.chain_id,
            kind="erc4626",
            address=t.address,
        )
        for t in mandate.allowed_targets
        if t.address and t.selector == REDEEM and t.address.lower() not in filed
    }
    return (*markets_of(mandate, markets), *unfiled.values())


async def whole_exits(deps: Deps, mandate: Mandate, market: Market) -> tuple[ContractCall, ...]:
    """The calls by which everything, else as much as it lets go, comes out of a market, the first
    one first; none where the vault holds nothing there.

    Errors: `chain_unavailable`.
    """
    chain, address = deps.chains.get(mandate.chain_id), deps.chains.address(market.address or "")
    try:
        return await _Exits(chain, mandate, market, address, Portion(share_bps=BPS)).calls()
    except Refused as refused:
        if refused.code != "no_position":
            raise
        return ()


def purse_call(
    deps: Deps, mandate: Mandate, request: CallIn, function: PurseFunction
) -> ContractCall:
    """The call of the purse's hub. Errors: `invalid_request`, `not_configured`."""
    for name in ("target", "data", "market", "share_bps"):
        if getattr(request, name) is not None:
            raise invalid(name, "purse stands in its place")
    amount, purse = request.amount_usdc, purse_of(mandate.allowed_targets)
    if function == "fund" and (amount is None or amount <= ZERO):
        raise invalid("amount_usdc", "more than 0 goes into a purse")
    if function == "drain" and amount is not None:
        raise invalid("amount_usdc", "all of a purse is taken back")
    if purse is None:
        raise invalid("purse", "the terms have no purse")
    data = deps.chains.get(mandate.chain_id).purse_call(function, amount or ZERO)
    return ContractCall(target=purse.hub, data=data)


_CALLDATA: Final = NextStep(
    "Give target and data, as the market's own documentation tells", by=OWNER_OR_AGENT
)


def _portion(request: CallIn) -> Portion | None:
    """The part that is to come out; None for a call by its calldata. Errors: `invalid_request`."""
    share_bps, amount = request.share_bps, request.amount_usdc
    if request.market is None:
        for name in ("share_bps", "amount_usdc"):
            if getattr(request, name) is not None:
                raise invalid(name, "it goes with market")
        return None
    if request.data is not None:
        raise invalid("data", "market stands in place of data")
    if (share_bps is None) == (amount is None):
        raise invalid("share_bps", "with market: either share_bps or amount_usdc")
    if amount is not None and amount <= ZERO:
        raise invalid("amount_usdc", "more than 0")
    return Portion(share_bps=share_bps, amount_usdc=amount)


@dataclass(frozen=True, slots=True)
class _Exits:
    """The calls by which a portion of one market can come out."""

    chain: Chain
    mandate: Mandate
    market: Market
    address: str
    portion: Portion

    async def calls(self) -> tuple[ContractCall, ...]:
        recipes = self._recipes()
        amount = self.portion.amount_usdc
        if amount is not None and not recipes[0].in_shares:
            # An amount names itself: nothing has to be read, and the chain says whether it passes.
            exit = MarketExit(market=self.market, amount=amount, said=amount)
            return (self._call(recipes[0], amount, exit),)
        vault, token = self.mandate.vault_address or "", self.market.share_token
        position = await self.chain.market_position(self.address, token, vault)
        calls = tuple(self._with_less(recipes, position))
        if not calls:
            raise Refused(refusal("no_position", market=self.market.id))
        return calls

    def _recipes(self) -> Sequence[Recipe]:
        """Those that the terms allow, first the one that names what was asked for; where they allow
        none, one that is refused for that.
        """
        by_share = self.portion.amount_usdc is None
        ordered = sorted(self.market.exits(), key=lambda r: r.in_shares is not by_share)
        allowed = [r for r in ordered if self._is_allowed(r)]
        return allowed or ordered[:1]

    def _is_allowed(self, recipe: Recipe) -> bool:
        selector = selector_of(self._call(recipe, ZERO, None).data)
        return self.mandate.contract_target(self.address, selector) is not None

    def _with_less(
        self, recipes: Sequence[Recipe], position: MarketPosition
    ) -> Iterator[ContractCall]:
        """All that was asked for, then as much as the market lets go of a share."""
        first = recipes[0]
        quantity, owned = first.quantity(self.portion, position), _owned(first, position)
        taken = min(quantity, owned)
        if not taken:
            return
        yield self._taking(first, quantity, taken, position)
        if self.portion.amount_usdc is not None:
            return
        for recipe in recipes:
            free, owned = recipe.free_quantity(position), _owned(recipe, position)
            requested = min(recipe.quantity(self.portion, position), owned)
            if free is not None and 0 < free < requested:
                yield self._taking(recipe, free, free, position, held_back=True)

    def _taking(
        self,
        recipe: Recipe,
        quantity: int,
        taken: int,
        position: MarketPosition,
        *,
        held_back: bool = False,
    ) -> ContractCall:
        exit = MarketExit(
            market=self.market,
            amount=self.portion.amount_usdc,
            taken=taken,
            owned=_owned(recipe, position),
            value=position.usdc,
            held_back=held_back,
            said=None if recipe.in_shares or taken > LIMIT_MICROS else Usdc(taken),
        )
        return self._call(recipe, quantity, exit)

    def _call(self, recipe: Recipe, quantity: int | Usdc, exit: MarketExit | None) -> ContractCall:
        vault, usdc = self.mandate.vault_address or "", self.chain.usdc or ""
        arguments = recipe.arguments(quantity, vault, usdc)
        data = self.chain.function_call(recipe.function, arguments)
        return ContractCall(target=self.address, data=data, exit=exit)


def _owned(recipe: Recipe, position: MarketPosition) -> int:
    """The whole position, in what the recipe names."""
    return position.shares if recipe.in_shares else position.value or 0


async def first_that_passes(
    calls: Sequence[ContractCall], simulate: Callable[[ContractCall], Awaitable[Simulation | None]]
) -> tuple[ContractCall, Simulation | None]:
    """The first call that the chain lets pass, else the first with the reason that it does not."""
    first = await simulate(calls[0])
    if first is None or first.ok:
        return calls[0], first
    for call in calls[1:]:
        tried = await simulate(call)
        if tried is not None and tried.ok:
            return call, tried
    return calls[0], first


async def with_answer(chain: Chain, mandate: Mandate, call: ContractCall) -> ContractCall:
    """The call with what its market answers to it, where that is not known yet."""
    vault = mandate.vault_address
    if call.exit is None or call.exit.said is not None or vault is None:
        return call
    try:
        said = await chain.returned(Call(chain.chain_id, call.target, call.data, sender=vault))
    except Refused:
        return call
    return replace(call, exit=replace(call.exit, said=said))
