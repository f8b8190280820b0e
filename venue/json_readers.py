"""Field types of the venue's JSON: bounds, lenient fields, and counts of unknown values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, Final, NamedTuple, NoReturn, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetPydanticSchema,
    StringConstraints,
    ValidationInfo,
    create_model,
)
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, PydanticOmit
from pydantic_core import core_schema as core

T = TypeVar("T")
First = TypeVar("First")
Second = TypeVar("Second")
_NAMES_COUNTED: Final = 64


class Bounds(NamedTuple):
    """Range of a field, both ends inclusive."""

    minimum: Decimal | int
    maximum: Decimal | int


# The smallest unit of a price or a size has eight decimals, and no market, account or fee is near
# the upper ends.
_UNIT: Final = Decimal("0.00000001")
PRICE: Final = Bounds(_UNIT, Decimal(10**9))
SIZE: Final = Bounds(_UNIT, Decimal(10**12))
AMOUNT: Final = Bounds(Decimal(0), Decimal(10**15))
SIGNED: Final = Bounds(Decimal(-(10**15)), Decimal(10**15))
HOURLY_RATE: Final = Bounds(Decimal(-1), Decimal(1))
LEVERAGE: Final = Bounds(1, 100)
SIZE_DECIMALS: Final = Bounds(0, 8)
FEE_TENTHS_BPS: Final = Bounds(0, 10_000)
WHOLE: Final = Bounds(1 - 2**64, 2**64 - 1)
TIME_MS: Final = Bounds(0, 253_402_300_799_000)  # what a calendar has
LONGEST_TEXT: Final = 4_096
# Of what a fill traded, and a cent besides; a maker may be paid as much.
FEE_SHARE: Final = Decimal("0.05")
FEE_ROUNDING: Final = Decimal("0.01")
# A price further from the last one than this, within an hour of it, is none.
MARK_FACTOR: Final = 10


@dataclass(slots=True)
class Tally:
    """Counts of the unknown and malformed parts of one answer."""

    unknown: Counter[str] = field(default_factory=Counter)
    strange: Counter[str] = field(default_factory=Counter)
    malformed: Counter[str] = field(default_factory=Counter)
    dropped: int = 0


def _count(counts: Counter[str], name: str) -> None:
    """Count a name; the number of distinct names is bounded, because a stranger may choose them."""
    name = name[:64]
    counts[name if name in counts or len(counts) < _NAMES_COUNTED else "others"] += 1


def _unknown(name: str, info: ValidationInfo[Tally]) -> str:
    _count(info.context.unknown, name)
    return name


class VenueJson(BaseModel):
    """A JSON object of the venue: declared fields are read, others are counted."""

    model_config = ConfigDict(
        strict=True, extra="allow", frozen=True, alias_generator=to_camel, defer_build=True
    )
    __pydantic_extra__: dict[Annotated[str, AfterValidator(_unknown)], object] = Field(init=False)

    def to(self, kind: Callable[..., T], **others: object) -> T:
        """A dataclass of the fields of the same names, and of the `others`."""
        names = kind.__dataclass_fields__.keys() - others.keys()  # type: ignore[attr-defined]
        return kind(**{name: getattr(self, name) for name in names}, **others)


def _figure(bounds: Bounds) -> GetPydanticSchema:
    """A decimal string within its bounds, as a Decimal; no JSON number and no exponent."""
    written = core.str_schema(strict=True, pattern=_FIGURE)
    value = core.decimal_schema(
        strict=False, allow_inf_nan=False, ge=Decimal(bounds.minimum), le=Decimal(bounds.maximum)
    )
    schema = core.chain_schema([written, value])
    return GetPydanticSchema(lambda _source, _handler: schema)


def _within(bounds: Bounds) -> AfterValidator:
    """Check the bounds of a figure that is passed on unchanged."""

    minimum, maximum = bounds

    def check(figure: str) -> str:
        if not minimum <= Decimal(figure) <= maximum:
            raise ValueError("beyond its bounds")
        return figure

    return AfterValidator(check)


def _integer(bounds: Bounds) -> object:
    return Field(strict=True, ge=int(bounds.minimum), le=int(bounds.maximum))


_FIGURE: Final = r"^-?[0-9]{1,40}(\.[0-9]{1,40})?$"
Text = Annotated[str, StringConstraints(strict=True, max_length=LONGEST_TEXT)]
Whole = Annotated[int, _integer(WHOLE)]
LeverageValue = Annotated[int, _integer(LEVERAGE)]
SizeDecimals = Annotated[int, _integer(SIZE_DECIMALS)]
FeeTenthsBps = Annotated[int, _integer(FEE_TENTHS_BPS)]
Price = Annotated[Decimal, _figure(PRICE)]
Size = Annotated[Decimal, _figure(SIZE)]
Amount = Annotated[Decimal, _figure(AMOUNT)]
Signed = Annotated[Decimal, _figure(SIGNED)]
HourlyRate = Annotated[Decimal, _figure(HOURLY_RATE)]
# Unchanged, as the venue wrote them: binary noise in a tail is its own.
Figure = Annotated[str, StringConstraints(strict=True, pattern=_FIGURE)]
AmountText = Annotated[Figure, _within(AMOUNT)]
HourlyRateText = Annotated[Figure, _within(HOURLY_RATE)]


def word(literals: Collection[str]) -> GetPydanticSchema:
    """A text of a known list; an unknown one passes unchanged and is counted."""
    text = core.str_schema(strict=True, max_length=LONGEST_TEXT)
    any_text = core.with_info_after_validator_function(_strange, text)
    listed = core.literal_schema(sorted(literals))
    schema = core.union_schema([listed, any_text], mode="left_to_right")
    return GetPydanticSchema(lambda _source, _handler: schema)


def _strange(value: str, info: ValidationInfo[Tally]) -> str:
    _count(info.context.strange, value)
    return value


def _malformed(_: object, info: ValidationInfo[Tally]) -> None:
    _count(info.context.malformed, info.field_name or "")


def _dropped(_: object, info: ValidationInfo[Tally]) -> NoReturn:
    info.context.dropped += 1
    raise PydanticOmit


def _beyond(value: object, info: ValidationInfo[Tally]) -> object:
    if not isinstance(value, list) or len(value) <= 2:
        return value
    for _ in value[2:]:
        _count(info.context.unknown, "beyond a pair")
    return value[:2]


def _or(first: CoreSchema, second: CoreSchema) -> CoreSchema:
    unchanged = core.simple_ser_schema("any")  # no search for the one that was taken
    return core.union_schema([first, second], mode="left_to_right", serialization=unchanged)


@dataclass(frozen=True, slots=True)
class _Lenient:
    """A field that may fail alone: `soft` reads a malformed value as None, `null` permits null."""

    soft: bool
    null: bool

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        schema: Any = handler(source)  # of `T | None`
        schema = schema if self.null else schema["schema"]
        return _or(schema, _MALFORMED) if self.soft else schema


def _rows(source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
    schema: Any = handler(source)
    return {**schema, "items_schema": _or(schema["items_schema"], _DROPPED)}


def _pair(source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
    two: Any = {**handler(source), "strict": False}  # JSON has lists alone
    return core.with_info_before_validator_function(_beyond, two)


_MALFORMED: Final = core.with_info_plain_validator_function(_malformed)
_DROPPED: Final = core.with_info_plain_validator_function(_dropped)

# What is malformed is None, and counted; never 0. `SoftOrNull` may be null besides.
Soft = Annotated[T | None, _Lenient(soft=True, null=False)]
SoftOrNull = Annotated[T | None, _Lenient(soft=True, null=True)]
# It may be missing, but not null.
Missing = Annotated[T | None, _Lenient(soft=False, null=False)]
# Rows stand for themselves: one that is malformed is left out and counted. A plain `list` is only
# right as a whole.
Rows = Annotated[list[T], GetPydanticSchema(_rows)]
# A list of two; what is beyond is counted and left out.
Pair = Annotated[tuple[First, Second], GetPydanticSchema(_pair)]

_SoftFigure = Soft[Figure]


def figures(*names: str) -> GetPydanticSchema:
    """An object of figures, each of which may be missing or malformed alone."""
    fields: Any = dict.fromkeys(names, (_SoftFigure, None))
    model = create_model("FiguresJson", __base__=VenueJson, **fields)
    return GetPydanticSchema(lambda _source, handler: handler.generate_schema(model))
