"""USDC as an exact integer of micro-USDC."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from domain.refusals import Refused, refusal
from domain.text import format_usdc

MICROS: Final = 1_000_000
WIDEST: Final = 400  # digits that a number of JSON's readers has before or behind its point
LIMIT_MICROS: Final = 10**12 * MICROS
BPS: Final = 10_000
LARGEST: Final = format_usdc(str(LIMIT_MICROS // MICROS))
NO_AMOUNT: Final = "a decimal string or a number is needed"
# The one form of an amount in a request (contract 1).
_PLAIN = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]{1,6})?")
_FINER = re.compile(r"-?(0|[1-9][0-9]*)\.[0-9]{7,}")

_OUTSIDE: Final = f"it is outside ±{LARGEST}"


def _invalid(value: object, reason: str) -> Refused:
    return Refused(refusal("invalid_number", value=repr(value)[:80], why=reason))


def _text(value: object) -> str:
    """Text of a number from a caller, as written; a JSON float by its shortest decimal form."""
    if not is_number(value):
        raise _invalid(value, "it is not a number")
    if isinstance(value, Decimal):
        return _plainly(value)
    if isinstance(value, int):
        # 1e12 USDC has 13 digits; converting an enormous integer to text would cost more than the
        # check.
        if abs(value) > 10**12:
            raise _invalid("an integer", _OUTSIDE)
        return str(value)
    # The door hands JSON floats over as they came; no float arithmetic follows.
    return value if isinstance(value, str) else _shortest(Decimal(repr(value)))


def is_number(value: object) -> bool:
    """True for the types of a number in JSON: a text or a number."""
    kind = type(value)
    return kind in (str, int, Decimal) or kind.__name__ == "float"


def _shortest(value: Decimal) -> str:
    """Plain text without trailing zeros."""
    text = _plainly(value)
    return text.rstrip("0").removesuffix(".") if "." in text else text


def _plainly(value: Decimal) -> str:
    """Plain text; as it stands of what is not finite, or would be zeros for the most part."""
    return (
        format(value, "f") if value.is_finite() and abs(value.adjusted()) < WIDEST else str(value)
    )


@dataclass(frozen=True, slots=True, order=True)
class Usdc:
    """An amount of USDC.

    Units: `micros` are millionths of a USDC, the token's base units.
    Source: spec 2.1; USDC has 6 decimals on every chain named here.
    """

    micros: int

    @classmethod
    def parse(cls, value: object) -> Usdc:
        """Read a number that a caller sent.

        Shapes: a plain decimal string (contract 1: no sign but a minus, no spaces, no needless
        zeros in front, at most 6 decimals), an int, a Decimal as it was written, or a float whose
        shortest form has at most 6 decimals.
        Errors: `invalid_number` when not finite, beyond ±1e12 or finer than 6 decimals (spec 2.1).
        """
        text = _text(value)
        if len(text) > 40 or not _PLAIN.fullmatch(text):
            finer = len(text) <= 40 and _FINER.fullmatch(text)
            reason = "it has more than 6 decimals" if finer else "it is not a plain decimal number"
            raise _invalid(value, reason)
        integer, _, fraction = text.removeprefix("-").partition(".")
        micros = int(integer) * MICROS + int(fraction.ljust(6, "0"))
        if micros > LIMIT_MICROS:
            raise _invalid(value, _OUTSIDE)
        return cls(-micros if text.startswith("-") else micros)

    def __str__(self) -> str:
        sign = "-" if self.micros < 0 else ""
        integer, fraction = divmod(abs(self.micros), MICROS)
        return f"{sign}{integer}.{fraction:06d}"

    def __add__(self, other: Usdc) -> Usdc:
        return Usdc(self.micros + other.micros)

    def __sub__(self, other: Usdc) -> Usdc:
        return Usdc(self.micros - other.micros)

    def __neg__(self) -> Usdc:
        return Usdc(-self.micros)

    def __bool__(self) -> bool:
        return self.micros != 0

    def share_down(self, bps: int) -> Usdc:
        """Return `bps` ten-thousandths of this amount, rounded towards minus infinity."""
        return Usdc(self.micros * bps // BPS)

    def share_up(self, bps: int) -> Usdc:
        """Return `bps` ten-thousandths of this amount, rounded towards plus infinity."""
        return Usdc(-(-self.micros * bps // BPS))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Describe the wire form to pydantic: parsed by `parse`, written as a 6-decimal string."""
        from pydantic_core import PydanticCustomError, core_schema

        def read(value: object) -> Usdc:
            if isinstance(value, Usdc):
                return value
            if not is_number(value):
                raise PydanticCustomError("money", NO_AMOUNT)
            return cls.parse(value)

        return core_schema.no_info_plain_validator_function(
            read,
            ref="domain.money.Usdc",
            serialization=core_schema.plain_serializer_function_ser_schema(
                str, return_schema=core_schema.str_schema()
            ),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> dict[str, object]:
        """Schema of the wire form: 6 decimals where it leaves, at most 6 where it comes."""
        if getattr(handler, "mode", None) == "serialization":
            return {
                "type": "string",
                "pattern": r"^-?\d+\.\d{6}$",
                "description": "USDC with 6 decimals",
                "examples": ["12.500000"],
            }
        return {
            "type": "string",
            "pattern": r"^-?(0|[1-9]\d*)(\.\d{1,6})?$",
            "description": "USDC, at most 6 decimals",
            "examples": ["12.500000"],
        }


ZERO: Final = Usdc(0)


def total(amounts: Iterable[Usdc]) -> Usdc:
    """Sum an iterable of amounts exactly."""
    return Usdc(sum(a.micros for a in amounts))


def smallest(*amounts: Usdc | None) -> Usdc | None:
    """Return the least of the known amounts; None when none is known."""
    amounts_known = [a for a in amounts if a is not None]
    return min(amounts_known) if amounts_known else None


def text(amount: Usdc | None) -> str | None:
    """Wire text of an amount, null where it is unknown."""
    return None if amount is None else str(amount)
