"""The venue's own words for every refusal, and the exceptions that carry them.

Source: the venue page 1.2, the venue's page "Error responses", and transcripts of its testnet.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Final

UNDESERIALIZABLE: Final = "Failed to deserialize the JSON body into the target type"


class Malformed(Exception):
    """The body is not what the venue's parser takes: HTTP 422 with plain text."""


class Refused(Exception):
    """The whole action is refused: HTTP 200, `status` is `err`."""


class OrderRefused(Exception):
    """One order of a batch is refused: an `error` among the statuses, and a row in the history."""

    def __init__(self, status: str, text: str):
        super().__init__(text)
        self.status, self.text = status, text


ASSET_FREE: Final = {
    "Order has invalid size.",
    "Order has zero size.",
    "Order has invalid price.",
    "Only post-only orders allowed immediately after network upgrade",
}

TICK: Final = "Price must be divisible by tick size."
MIN_NOTIONAL: Final = "Order must have minimum value of $10."
MARGIN: Final = "Insufficient margin to place order."
REDUCE_ONLY: Final = "Reduce only order would increase position."
IOC_NO_MATCH: Final = "Order could not immediately match against any resting orders."
NO_LIQUIDITY: Final = "No liquidity available for market order."
OI_CAPPED: Final = "Order would increase open interest while open interest is capped"
OI_AGGRESSIVE: Final = (
    "Order rejected due to price more aggressive than oracle while at open interest cap"
)
OI_TOO_QUICK: Final = "Order would increase open interest too quickly"
ORACLE: Final = "Order price too far from oracle"
BAND: Final = "Order price cannot be more than 80% away from the reference price"
MAX_POSITION: Final = "Order would cause position to exceed margin tier limit at current leverage"
INVALID_SIZE: Final = "Order has invalid size."
ZERO_SIZE: Final = "Order has zero size."
INVALID_PRICE: Final = "Order has invalid price."
POST_ONLY_PHASE: Final = "Only post-only orders allowed immediately after network upgrade"
MISSING_ORDER: Final = "Order was never placed, already canceled, or filled."
BUILDER: Final = "Builder fee has not been approved."
BUILDER_POOR: Final = "Builder has insufficient balance to be approved."
EXPIRED: Final = "Action already expired"
NETWORK: Final = "Mainnet and testnet require different signature."
NONCE_MISMATCH: Final = "Nonce mismatch."
UNRECOVERABLE: Final = "Unable to recover signer."
AGENT_USED: Final = "Extra agent already used."
AGENT_EXPIRED: Final = "Agent valid_until already expired."
AGENT_PENDING: Final = "User has pending agent removal"
LEVERAGE_TYPE: Final = "Cannot switch leverage type with open position."
VAULT_MAY_NOT: Final = "Vault may not perform this action."
# The venue's words for the next five are not on record; a caller must not match on them.
HALTED: Final = "Trading is halted."
NO_SUCH_ASSET: Final = "Invalid asset."
BAD_LEVERAGE: Final = "Invalid leverage value"
TOO_MANY_BUILDERS: Final = "Too many builders approved."
TOO_MANY_OPEN: Final = "Too many open orders."


def unknown_wallet(address: str) -> str:
    """A signer that is no user and no agent: what a signature over other bytes leads to."""
    return f"User or API Wallet {address} does not exist."


def must_deposit(address: str) -> str:
    """A user-signed action of an address without an account, or an agent just removed."""
    return f"Must deposit before performing actions. User: {address}"


def vault_unknown(address: str) -> str:
    """An action for a vault or sub-account that is not there."""
    return f"Vault not registered: {address}"


def duplicate_nonce(nonce: int) -> str:
    """A nonce that this signer has used."""
    return f"Invalid nonce: duplicate nonce {nonce}"


def low_nonce(nonce: int, minimum: int) -> str:
    """Before the window, or below the smallest of the hundred that are kept."""
    return f"Invalid nonce: nonce too low {nonce} < {minimum}"


def high_nonce(nonce: int, limit: int) -> str:
    """More than a day ahead."""
    return f"Invalid nonce: nonce too high {nonce} > {limit}"


def post_only(bbo: str) -> str:
    """A post-only order that would have traded."""
    return f"Post only order would have immediately matched, bbo was {bbo}."


def too_many_agents(limit: int) -> str:
    """No named slot is free."""
    return f"Too many extra agents for cumulative volume traded. Current limit is {limit}"


def too_many_requests(used: int, cap: int, volume: Decimal) -> str:
    """The address has spent its own budget."""
    return (
        f"Too many cumulative requests sent ({used} > {cap}) for cumulative volume traded "
        f"${volume:.2f}. Place taker orders to free up 1 request per USDC traded."
    )
