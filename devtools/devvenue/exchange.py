"""`POST /exchange`: verify an envelope as the venue does, then do what its action asks.

Order of the checks: shape (422), network and nonce fields, recovered signer, vault, expiry, nonce,
the account's budget, the action itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from devtools.devvenue import refusals as say
from devtools.devvenue import wires
from devtools.devvenue.accounts import Account, Nonces
from devtools.devvenue.agents import acting_for, approve_agent, approve_builder, own_account
from devtools.devvenue.limits import EXPIRED_COSTS, batch_of, count_requests
from devtools.devvenue.refusals import OrderRefused, Refused
from devtools.devvenue.signatures import signer_of
from devtools.devvenue.state import DAY_MS, State
from devtools.devvenue.trading import Status, cancel, place_batch
from devtools.devvenue.wires import Envelope, read_envelope

OLDEST_MS: Final = 2 * DAY_MS
NEWEST_MS: Final = DAY_MS
_DEFAULT: Final[dict[str, object]] = {"type": "default"}


def handle(state: State, body: object) -> dict[str, object]:
    """Answer one envelope. Errors: `Malformed`."""
    envelope = read_envelope(body)
    try:
        signer, account = _verified(state, envelope)
        action = envelope.action
        if envelope.expires_after is not None and state.now() > envelope.expires_after:
            account.requests += EXPIRED_COSTS * batch_of(action)
            raise Refused(say.EXPIRED)
        use_nonce(state, signer, envelope.nonce)
        count_requests(state, account, action)
        return {"status": "ok", "response": _done(state, account, action)}
    except (Refused, OrderRefused) as refused:
        return {"status": "err", "response": str(refused)}


def _verified(state: State, envelope: Envelope) -> tuple[str, Account]:
    """The signer of an action, and the account it acts for. Errors: `Refused`."""
    action = envelope.action
    if isinstance(action, wires.UserSigned):
        if action.hyperliquid_chain != ("Mainnet" if state.mainnet else "Testnet"):
            raise Refused(say.NETWORK)
        if action.nonce != envelope.nonce:
            raise Refused(say.NONCE_MISMATCH)
        if envelope.vault_address is not None:
            raise Refused(say.VAULT_MAY_NOT)
        signer = signer_of(envelope, mainnet=state.mainnet)
        return signer, own_account(state, signer)
    signer = signer_of(envelope, mainnet=state.mainnet)
    account = acting_for(state, signer)
    if envelope.vault_address not in (None, account.address):
        raise Refused(say.vault_unknown(str(envelope.vault_address)))
    return signer, account


def use_nonce(state: State, signer: str, nonce: int) -> None:
    """Burn a nonce: unused, above the smallest of the hundred kept, within (T - 2 d, T + 1 d).

    Errors: `Refused`.
    """
    now = state.now()
    nonces = state.nonces.setdefault(signer, Nonces())
    if nonces.used(nonce):
        raise Refused(say.duplicate_nonce(nonce))
    minimum = max(now - OLDEST_MS, nonces.least() or 0)
    if nonce <= minimum:
        raise Refused(say.low_nonce(nonce, minimum))
    if nonce >= now + NEWEST_MS:
        raise Refused(say.high_nonce(nonce, now + NEWEST_MS))
    nonces.burn(nonce)


def _done(state: State, account: Account, action: wires.Action) -> dict[str, object]:
    """The response to an action that was done. Errors: `Refused`, `OrderRefused`, `Malformed`."""
    match action:
        case wires.PlaceOrders():
            fee = action.builder
            builder = (fee.b, fee.f) if fee else None
            return _statuses("order", place_batch(state, account, action.orders, builder))
        case wires.Cancel():
            done = [cancel(state, account, row.a, row.o) for row in action.cancels]
            return _statuses("cancel", done)
        case wires.CancelByCloid():
            done = [cancel(state, account, row.asset, row.cloid) for row in action.cancels]
            return _statuses("cancel", done)
        case wires.UpdateLeverage():
            _set_leverage(state, account, action)
        case wires.ApproveAgent():
            approve_agent(state, account, action)
        case wires.ApproveBuilderFee():
            approve_builder(state, account, action)
        case wires.Noop():
            pass
    return _DEFAULT


def _statuses(kind: str, statuses: Sequence[Status]) -> dict[str, object]:
    return {"type": kind, "data": {"statuses": statuses}}


def _set_leverage(state: State, account: Account, action: wires.UpdateLeverage) -> None:
    market = state.by_asset.get(action.asset)
    if market is None:
        raise Refused(say.NO_SUCH_ASSET)
    cross, leverage = action.is_cross, action.leverage
    if not 1 <= leverage <= market.max_leverage or (cross and not market.cross_allowed):
        raise Refused(say.BAD_LEVERAGE)
    position = account.positions.get(market.coin)
    if position is not None:
        if position.is_cross != cross:
            raise Refused(say.LEVERAGE_TYPE)
        position.leverage = leverage
    account.leverage[market.coin] = (cross, leverage)
