"""Purses: what the terms say of the contract that pays x402 bills out of a mandate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

from domain.money import ZERO, Usdc
from domain.refusals import invalid
from domain.wire_fields import LEFT_OUT, described

PurseFunction = Literal["fund", "drain"]
_AMOUNTS: Final = ("per_payment_usdc", "per_day_usdc", "float_usdc")
PARTS: Final = ("purse", *_AMOUNTS, "payees", "hosts")
"""What terms say of payments, by the names in their entry; any of it may be unclear in a draft."""
MAX_PAYEES: Final = 50
LONGEST_S: Final = 3_600
"""The life of a bill in all, by the purse's own rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PurseTerms:
    """The limits of a purse; one that is left out is the mandate's own. `hub` is the contract
    whose address commits to them: what the owner signs names it.

    Shapes: addresses are EIP-55; without `payees` anybody may be paid.
    """

    per_payment_usdc: Usdc | None = field(default=None, metadata=LEFT_OUT)
    per_day_usdc: Usdc | None = field(default=None, metadata=LEFT_OUT)
    float_usdc: Usdc | None = field(
        default=None,
        metadata=LEFT_OUT | described("the most that lies in the purse at once"),
    )
    payees: tuple[str, ...] = field(
        default=(), metadata=described("who may be paid; anybody where none is named")
    )
    hub: str = field(default="", metadata=described("the contract that keeps the purse"))

    @property
    def is_plain(self) -> bool:
        """True where no limit is set: the hub of the chain that every such mandate shares."""
        return not (self.payees or any(getattr(self, name) for name in _AMOUNTS))

    def per_payment(self, per_tx_cap: Usdc) -> Usdc:
        """The most of one bill, under the mandate's cap per action."""
        return _least(self.per_payment_usdc, per_tx_cap)

    def per_day(self, daily_cap: Usdc) -> Usdc:
        """The most that is put in on a UTC day, under the mandate's cap per day."""
        return _least(self.per_day_usdc, daily_cap)

    def float_limit(self, daily_cap: Usdc) -> Usdc:
        """The most that lies in the purse at once."""
        return _least(self.float_usdc, daily_cap)

    def as_json(self) -> dict[str, object]:
        """The stored form, which `from_json` reads."""
        amounts = {name: getattr(self, name) for name in _AMOUNTS}
        limits: dict[str, object] = {n: str(v) for n, v in amounts.items() if v is not None}
        return limits | {"payees": list(self.payees), "hub": self.hub}

    @classmethod
    def from_json(cls, value: Mapping[str, object]) -> PurseTerms:
        """Read the stored form back."""
        payees = value["payees"]
        return cls(
            payees=tuple(payees) if isinstance(payees, list) else (),
            hub=str(value["hub"]),
            **{n: Usdc.parse(value[n]) for n in _AMOUNTS if n in value},
        )


def _least(own: Usdc | None, of_mandate: Usdc) -> Usdc:
    return of_mandate if own is None else min(own, of_mandate)


def check_limits(purse: PurseTerms, per_tx_cap: Usdc, daily_cap: Usdc, loc: str) -> None:
    """Refuse limits that are none, or above the mandate's own. Errors: `invalid_request`."""
    bounds = {
        "per_payment_usdc": (per_tx_cap, "the cap per action"),
        "per_day_usdc": (daily_cap, "the cap per day"),
        "float_usdc": (daily_cap, "the cap per day"),
    }
    for name, (most, bound) in bounds.items():
        amount: Usdc | None = getattr(purse, name)
        if amount is None:
            continue
        if amount <= ZERO:
            raise invalid(f"{loc}.{name}", "it is above 0, or left out")
        if amount > most:
            raise invalid(f"{loc}.{name}", f"it is not above {bound}")
    if purse.per_payment_usdc and purse.per_payment_usdc > purse.float_limit(daily_cap):
        raise invalid(f"{loc}.per_payment_usdc", "it is not above what lies in the purse at once")


@dataclass(frozen=True, slots=True, kw_only=True)
class BillTerms:
    """The five words of a bill that a purse pays: an EIP-3009 transfer from it.

    Units: `amount` USDC, `valid_after` and `valid_before` unix seconds, both exclusive.
    Shapes: `nonce` is 0x and 64 digits, of which the first eight are the purse's epoch.
    """

    pay_to: str
    amount: Usdc
    valid_after: int
    valid_before: int
    nonce: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenDomain:
    """The EIP-712 domain of the token: its name and version as they are signed."""

    name: str
    version: str


class PurseChain(Protocol):
    """The pure half of purses: addresses, calldata, bills and their signatures."""

    @property
    def plain_hub(self) -> str | None:
        """The hub of purses without limits of their own."""

    def purse_hub(self, purse: PurseTerms) -> str:
        """The hub whose address commits to these limits, EIP-55. Errors: `not_configured`."""

    def purse_address(
        self,
        message: Mapping[str, str],
        vault: str,
        digest: str,
        purse: PurseTerms,
        *,
        keeps_approvals: bool,
    ) -> str:
        """The address of a vault's purse, EIP-55; `message` is of the signed terms, `digest`
        theirs.
        """

    def purse_call(self, function: PurseFunction, amount: Usdc = ZERO) -> str:
        """Calldata of a hub's `fund(uint256)` or `drain()`."""

    def bill_nonce(self, epoch: int, resource: str, pay_to: str, salt: str) -> str:
        """The nonce that binds a bill to what is bought: 4 bytes of the epoch and the first 28 of
        keccak256(abi.encode(resource, pay_to, salt)).
        """

    def bill_typed_data(self, purse: str, token: TokenDomain, bill: BillTerms) -> dict[str, object]:
        """The EIP-3009 typed data TransferWithAuthorization that the agent signs."""

    def bill_action(self, purse: str, bill: BillTerms) -> str:
        """keccak256(abi.encode(purse, payee, EIP-3009 struct hash, value)), which an owner's
        ApproveAction over this very bill names.
        """

    def bill_words(self, bill: BillTerms) -> str:
        """The five words of a bill, 0x hex, with which the purse's signature begins."""

    def bill_signature(
        self,
        bill: BillTerms,
        signature: str,
        *,
        payees: tuple[str, ...] = (),
        until: int | None = None,
        approval: str | None = None,
    ) -> str:
        """The bytes that the purse takes: the bill, the agent's 65, and where payees are named or
        the owner approved, the proof of the payee and the approval.
        """

    def key_of_signature(self, digest: str, signature: str) -> str | None:
        """The address of the key that signed a digest, EIP-55; None where none did."""

    def token_separator(self, token: TokenDomain) -> str:
        """The EIP-712 domain separator of USDC under this name and version, 0x hex."""
