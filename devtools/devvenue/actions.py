"""Venue actions: the effect of each, once its signature, nonce and budget are good."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, Literal, TypedDict, TypeVar

from devtools.devvenue import refusals as say
from devtools.devvenue import wires
from devtools.devvenue.accounts import DISABLED, MODES, PORTFOLIO, SPOT, UNIFIED, Account
from devtools.devvenue.agents import approve_agent, approve_builder
from devtools.devvenue.decimals import ZERO, micros, parse
from devtools.devvenue.margin import pool
from devtools.devvenue.refusals import Malformed, OrderRefused, Refused
from devtools.devvenue.state import State
from devtools.devvenue.statuses import Cancelled, Status
from devtools.devvenue.trading import Batch, cancel, modify, place_batch

T = TypeVar("T")


class _Default(TypedDict):
    type: Literal["default"]


class _StatusList(TypedDict):
    statuses: Sequence[Status | Cancelled]


class _Statuses(TypedDict):
    type: Literal["order", "cancel"]
    data: _StatusList


Done = _Default | _Statuses
DEFAULT: Final[_Default] = {"type": "default"}
SCHEDULE_VOLUME: Final = Decimal(1_000_000)
SCHEDULE_AHEAD_MS: Final = 5_000


def _statuses(kind: Literal["order", "cancel"], statuses: Sequence[Status | Cancelled]) -> Done:
    return {"type": kind, "data": {"statuses": statuses}}


def _order(state: State, account: Account, action: wires.PlaceOrders) -> Done:
    fee = action.get("builder")
    batch = Batch(action["grouping"], (fee["b"], fee["f"]) if fee else None)
    return _statuses("order", place_batch(state, account, action["orders"], batch))


def _cancel(state: State, account: Account, action: wires.Cancel) -> Done:
    done = [cancel(state, account, row["a"], row["o"]) for row in action["cancels"]]
    return _statuses("cancel", done)


def _cancel_by_cloid(state: State, account: Account, action: wires.CancelByCloid) -> Done:
    done = [cancel(state, account, row["asset"], row["cloid"]) for row in action["cancels"]]
    return _statuses("cancel", done)


def _modify(state: State, account: Account, action: wires.Modify) -> Done:
    status = modify(state, account, action["oid"], action["order"])
    if not isinstance(status, str) and "error" in status:
        raise Refused(status["error"])
    return DEFAULT


def _batch_modify(state: State, account: Account, action: wires.BatchModify) -> Done:
    statuses: list[Status] = []
    for row in action["modifies"]:
        try:
            statuses.append(modify(state, account, row["oid"], row["order"]))
        except Refused as refused:
            statuses.append({"error": str(refused)})
        except OrderRefused as refused:
            statuses.append({"error": refused.text})
    return _statuses("order", statuses)


def _leverage(state: State, account: Account, action: wires.UpdateLeverage) -> Done:
    market = state.by_asset.get(action["asset"])
    if market is None:
        raise Refused(say.NO_SUCH_ASSET)
    cross, leverage = action["isCross"], action["leverage"]
    if not 1 <= leverage <= market.max_leverage or (cross and not market.cross_allowed):
        raise Refused(say.BAD_LEVERAGE)
    position = account.positions.get(market.coin)
    if position is not None:
        if position.is_cross != cross:
            raise Refused(say.LEVERAGE_TYPE)
        position.leverage = leverage
    account.leverage[market.coin] = (cross, leverage)
    return DEFAULT


def _isolated(state: State, account: Account, action: wires.UpdateIsolatedMargin) -> Done:
    market = state.by_asset.get(action["asset"])
    position = account.positions.get(market.coin) if market else None
    if market is None or position is None or position.is_cross:
        raise Refused(say.NOT_ISOLATED)
    amount = Decimal(action["ntli"]).scaleb(-6)
    free = position.equity(market.mark) - abs(position.size) * market.mark / position.leverage
    if amount > pool(state, account, market.dex).withdrawable or -amount > max(free, ZERO):
        raise Refused(say.MARGIN)
    account.add_cash(market.dex, state.collateral(market.dex), -amount)
    position.raw_usd += amount
    return DEFAULT


def _schedule(state: State, account: Account, action: wires.ScheduleCancel) -> Done:
    if account.volume < SCHEDULE_VOLUME:
        raise Refused(say.schedule_gate(account.volume))
    at = action.get("time")
    if at is not None and at < state.now() + SCHEDULE_AHEAD_MS:
        raise Refused("Scheduled cancel time too early, must be at least 5 seconds from now.")
    account.cancel_at = at
    return DEFAULT


def _noop(state: State, account: Account, action: wires.Noop) -> Done:
    return DEFAULT


def _referrer(state: State, account: Account, action: wires.SetReferrer) -> Done:
    raise Refused(say.NO_REFERRER)


def _agent(state: State, account: Account, action: wires.ApproveAgent) -> Done:
    approve_agent(state, account, action)
    return DEFAULT


def _builder(state: State, account: Account, action: wires.ApproveBuilderFee) -> Done:
    approve_builder(state, account, action)
    return DEFAULT


def _agent_abstraction(state: State, account: Account, action: wires.AgentSetAbstraction) -> Done:
    set_mode(state, account, MODES[action["abstraction"]])
    return DEFAULT


def _abstraction(state: State, account: Account, action: wires.UserSetAbstraction) -> Done:
    mode = MODES.get(action["abstraction"], action["abstraction"])
    if mode not in (DISABLED, UNIFIED, PORTFOLIO):
        raise Malformed
    if action["user"] != account.address:
        raise Refused(say.vault_unknown(action["user"]))
    set_mode(state, account, mode)
    return DEFAULT


def set_mode(state: State, account: Account, mode: str) -> None:
    """Change where the balance of record is: one pool of each token, or one of each dex."""
    was = account.pooled
    account.mode = mode
    if account.pooled and not was:
        for dex, amount in account.perp.items():
            token = state.collateral(dex)
            account.spot[token] = account.spot.get(token, ZERO) + amount
        account.perp.clear()
    elif was and not account.pooled:
        # What backs positions goes to the first dex of its collateral; the owner moves it on.
        for dex in state.dexes:
            token = state.collateral(dex)
            account.perp[dex] = account.spot.pop(token, ZERO)


def _amount(text: str) -> Decimal:
    amount = parse(text)
    if amount is None or amount <= 0 or amount != micros(amount):
        raise Refused(say.INVALID_SEND)
    return amount


def _take(state: State, account: Account, place: str, amount: Decimal) -> None:
    """Take money from `spot` or from a dex. Errors: `Refused`."""
    if place == SPOT:
        free = account.spot.get(0, ZERO)
    elif place in state.dexes:
        free = pool(state, account, place).withdrawable
    else:
        raise Refused(say.INVALID_SEND)
    if amount > free:
        raise Refused("Insufficient balance for token transfer")
    _give(state, account, place, -amount)


def _give(state: State, account: Account, place: str, amount: Decimal) -> None:
    if place == SPOT:
        account.spot[0] = account.spot.get(0, ZERO) + amount
    else:
        account.add_cash(place, state.collateral(place), amount)


def _class_transfer(state: State, account: Account, action: wires.UsdClassTransfer) -> Done:
    if account.pooled:
        raise Refused(say.UNIFIED_OFF)
    amount = _amount(action["amount"])
    source, target = (SPOT, "") if action["toPerp"] else ("", SPOT)
    _take(state, account, source, amount)
    _give(state, account, target, amount)
    return DEFAULT


def _send(state: State, account: Account, action: wires.SendAsset | wires.AgentSendAsset) -> Done:
    """Move USDC between spot and dexes, or to another account."""
    target = action["destination"]
    if action["type"] == "agentSendAsset" and target != account.address:
        raise Refused(say.AGENT_SEND)
    usdc = state.tokens[0]
    places = (action["sourceDex"], action["destinationDex"])
    known = all(p == SPOT or (p in state.dexes and state.collateral(p) == 0) for p in places)
    if action["token"] != f"USDC:{usdc.token_id}" or not known:
        raise Refused(say.INVALID_SEND)
    amount = _amount(action["amount"])
    _take(state, account, places[0], amount)
    _give(state, state.open_account(target), places[1], amount)
    return DEFAULT


def _usd_send(state: State, account: Account, action: wires.UsdSend | wires.Withdraw) -> Done:
    amount = _amount(action["amount"])
    _take(state, account, "", amount)
    if action["type"] == "usdSend":
        _give(state, state.open_account(action["destination"]), "", amount)
    return DEFAULT


def _effect(
    form: type[T], effect: Callable[[State, Account, T], Done]
) -> tuple[str, Callable[[State, Account, T], Done]]:
    """An effect under the name of the action that it takes."""
    return wires.name_of(form), effect


EFFECTS: Final[Mapping[str, Callable[[State, Account, Any], Done]]] = dict(
    (
        _effect(wires.PlaceOrders, _order),
        _effect(wires.Cancel, _cancel),
        _effect(wires.CancelByCloid, _cancel_by_cloid),
        _effect(wires.Modify, _modify),
        _effect(wires.BatchModify, _batch_modify),
        _effect(wires.UpdateLeverage, _leverage),
        _effect(wires.UpdateIsolatedMargin, _isolated),
        _effect(wires.ScheduleCancel, _schedule),
        _effect(wires.Noop, _noop),
        _effect(wires.SetReferrer, _referrer),
        _effect(wires.AgentSetAbstraction, _agent_abstraction),
        _effect(wires.AgentSendAsset, _send),
        _effect(wires.ApproveAgent, _agent),
        _effect(wires.ApproveBuilderFee, _builder),
        _effect(wires.UserSetAbstraction, _abstraction),
        _effect(wires.UsdClassTransfer, _class_transfer),
        _effect(wires.SendAsset, _send),
        _effect(wires.UsdSend, _usd_send),
        _effect(wires.Withdraw, _usd_send),
    )
)


def run(state: State, account: Account, action: wires.Action) -> Done:
    """Do what an action asks. Errors: `Refused`, `OrderRefused`, `Malformed`."""
    return EFFECTS[action["type"]](state, account, action)
