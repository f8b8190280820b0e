"""`POST /exchange`: verify an envelope as the venue does, then do what it asks.

Order of the checks: shape (422), network and nonce fields, recovered signer, vault, expiry, nonce,
the account's budget, the action itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from devtools.devvenue import refusals as say
from devtools.devvenue.accounts import Account, Nonces
from devtools.devvenue.actions import Done, run
from devtools.devvenue.agents import acting_for, own_account
from devtools.devvenue.limits import EXPIRED_COSTS, batch_of, count_requests
from devtools.devvenue.refusals import Malformed, OrderRefused, Refused
from devtools.devvenue.shapes import address, integer
from devtools.devvenue.signatures import (
    action_hash,
    l1_digest,
    read_signature,
    recover,
    user_signed_digest,
)
from devtools.devvenue.state import DAY_MS, State
from devtools.devvenue.wires import Action, UserSigned, read_action, user_signed

OLDEST_MS: Final = 2 * DAY_MS
NEWEST_MS: Final = DAY_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """A body that has the right shape."""

    action: Action
    nonce: int
    signature: tuple[int, int, int]
    vault: str | None
    expires_after: int | None


def read_envelope(body: object) -> Envelope:
    """Parse a body into its canonical form. Errors: `Malformed`."""
    if not isinstance(body, dict):
        raise Malformed
    action = read_action(body.get("action"))
    vault, expires = body.get("vaultAddress"), body.get("expiresAfter")
    if user_signed(action) and expires is not None:
        raise Malformed
    return Envelope(
        action=action,
        nonce=integer(body.get("nonce")),
        signature=read_signature(body.get("signature")),
        vault=None if vault is None else address(vault),
        expires_after=None if expires is None else integer(expires),
    )


def handle(state: State, body: object) -> dict[str, object]:
    """Answer one envelope. Errors: `Malformed`."""
    envelope = read_envelope(body)
    try:
        return {"status": "ok", "response": _run(state, envelope)}
    except Refused as refused:
        return {"status": "err", "response": str(refused)}
    except OrderRefused as refused:
        return {"status": "err", "response": refused.text}


def _run(state: State, envelope: Envelope) -> Done:
    signer, account = _verified(state, envelope)
    action = envelope.action
    if envelope.expires_after is not None and state.now() > envelope.expires_after:
        account.requests += EXPIRED_COSTS * batch_of(action)
        raise Refused(say.EXPIRED)
    use_nonce(state, signer, envelope.nonce)
    count_requests(state, account, action)
    return run(state, account, action)


def _verified(state: State, envelope: Envelope) -> tuple[str, Account]:
    """The signer of an action, and the account it acts for. Errors: `Refused`."""
    action = envelope.action
    if user_signed(action):
        if action["hyperliquidChain"] != ("Mainnet" if state.mainnet else "Testnet"):
            raise Refused(say.NETWORK)
        if _nonce_of(action) != envelope.nonce:
            raise Refused(say.NONCE_MISMATCH)
        if envelope.vault is not None:
            raise Refused(say.VAULT_MAY_NOT)
        signer = recover(user_signed_digest(action), envelope.signature)
        return signer, own_account(state, signer)
    connection_id = action_hash(action, envelope.nonce, envelope.vault, envelope.expires_after)
    signer = recover(l1_digest(connection_id, state.mainnet), envelope.signature)
    account = acting_for(state, signer)
    if envelope.vault is None or envelope.vault == account.address:
        return signer, account
    vault = state.account(envelope.vault)
    if vault is None or vault.master != account.address:
        raise Refused(say.vault_unknown(envelope.vault))
    return signer, vault


def _nonce_of(action: UserSigned) -> int:
    if action["type"] == "usdSend" or action["type"] == "withdraw3":
        return action["time"]
    return action["nonce"]


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
