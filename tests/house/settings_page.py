"""The page of all settings, and the schemas of `wallet.toml` and of the markets file, made from the modules that read them: names,
types and defaults from their models, sections and meanings from their source.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from domain.mandates.markets import EXITS, KEYS, KINDS, STATUSES, Market, Word
from server.chain_settings import CREDENTIAL_MARK, ChainSettings
from server.settings import Settings

EXAMPLES: Final = Path(__file__).parents[2] / "docs" / "examples"
_SECTION: Final = re.compile(r"    # Section: (.+)")
_BOUNDS: Final = {"ge": "from {}", "gt": "above {}", "le": "to {}", "min_length": "of {} characters or more", "max_length": "of at most {} characters"}  # fmt: skip
_HEAD: Final = """# Settings

Made from `server/settings.py` (`python -m tests.house.test_documents` writes it anew).

- A setting is read from the environment (`WALLET_` and its name), else from `wallet.toml` in the working directory (the name in small letters), else it has its default. An empty variable is
  one that is not set. A value that cannot be stops the start, in one sentence that names the setting and never its value; a name that is none of these is ignored, and `wallet doctor` finds it.
- Every process of one service has the same settings, but for those of the signer alone. They are read once, at the start.
- `secret`: *yes*, it is never shown, logged or stored; *a file*, it names a file that holds one, which nobody else can read (`chmod 600`); *may hold one*, a password or a key may stand in the address.
- What is on or off is on for `on`, `1`, `true` and `yes`, and off for every other word; `wallet doctor` finds words that are for neither.
- `wallet doctor` says what is missing and what that switches off, `wallet doctor --strict` ends with 1 where something is, `wallet doctor --json` says it to programs.
"""
_TOML: Final = """
## wallet.toml

The same names in small letters; chains are tables. Its schema is [wallet.schema.json](schemas/wallet.schema.json), which editors read by the first line. A file with a secret in it belongs to the
service's user alone; rather name a file for each (`…_file`), as service managers hand secrets over.

```toml
{example}```
"""
_MARKETS: Final = """
## The markets file

`WALLET_MARKETS_FILE` names a file of `[[markets]]`, in place of the shipped list. **The shipped list holds no live contract market**: none has been reviewed yet. A market goes on a list only after review: no call that
lets the caller choose further calls, no spot-price probe, one probe a position ([contracts/SECURITY.md](../contracts/SECURITY.md)), its address held against its source and against the chain. A file
that cannot be read, a key that no market has, or a key that is missing stops the start in one sentence. Its schema is [markets.schema.json](schemas/markets.schema.json).

| key | needed | what it is |
|---|---|---|
{keys}

**Entering and leaving by name.** `mandate_act` makes the calldata of both; `mandate_unwind_call`, `mandate_execute_call` and the screens that of an exit, out of the position that the vault has on chain. An owner who leaves is never asked for
calldata, so that a market without an exit says before the signature that only its agent can leave it. Which exit is taken, and how much of the position it names:

| kind | an amount | a share of the position (`share_bps`) |
|---|---|---|
| `erc4626` | `withdraw(amount, vault, vault)` | `redeem(shares, vault, vault)`: that share of `balanceOf(vault)`, rounded down; all of it at 10000, so that no dust stays |
| `aave` | `withdraw(usdc, amount, vault)` | the same with that share of the token's balance, rounded down; at 10000 with 2^256-1, which a pool takes for everything |

- Where the terms allow one of the two exits of ERC-4626 alone, that one is taken, by `convertToAssets` of the shares. `exit` names one for good: `exit = {{ function = "redeem(uint256,address,address)", args = ["shares", "vault", "vault"] }}`.
- Where the chain refuses the whole of a share, as much is tried as the market frees (`maxRedeem`, `maxWithdraw`; of a pool its token's USDC): the answer says `held_back`. An amount comes out exactly or not at all.
- `exit = "none"` belongs to a market that one call does not leave: one with a queue, or with a lock that is set per position.

```toml
{example}```
"""


@dataclass(frozen=True, slots=True)
class Documented:
    """A field of a settings model with what its source says of it."""

    name: str
    section: str
    meaning: str
    field: FieldInfo


def documented(model: type[BaseModel]) -> Iterator[Documented]:
    """The fields of a settings model in the order of its source."""
    for name, section, meaning in meanings(model):
        yield Documented(name, section, meaning, model.model_fields[name])


def meanings(model: type[Any]) -> Iterator[tuple[str, str, str]]:
    """Name, section and meaning of each field of a class, by its source. Errors: AssertionError for a field without a meaning."""
    lines = inspect.getsource(inspect.getmodule(model) or model).splitlines()
    tree = ast.parse("\n".join(lines))
    (declared,) = (n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == model.__name__)
    sections = {n: m[1] for n, line in enumerate(lines, start=1) if (m := _SECTION.fullmatch(line))}
    for node, after in zip(declared.body, declared.body[1:], strict=False):
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        name = node.target.id
        said = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        assert said, f"{model.__name__}.{name} needs a sentence below it that says what it switches"
        meaning = " ".join(str(after.value.value).split())
        section = max((n for n in sections if n < node.lineno), default=0)
        yield name, sections.get(section, ""), meaning


def settings_md() -> str:
    """Every setting, section by section, then those of a chain, then the file."""
    out, section = [_HEAD], None
    for entry in documented(Settings):
        if entry.section != section:
            section = entry.section
            out += ["", f"## {section}", "", *_TABLE]
        out.append(_row(f"WALLET_{entry.name.upper()}", entry))
    out += ["", "## Each chain", "", "`<id>` is its EIP-155 number, as in `WALLET_CHAINS__8453__RPC_URL`.", "", *_TABLE]  # fmt: skip
    out += [_row(f"WALLET_CHAINS__<id>__{e.name.upper()}", e) for e in documented(ChainSettings)]
    example = (EXAMPLES / "wallet.toml").read_text()
    return "\n".join([*out, _TOML.format(example=example), _markets()])


def _markets() -> str:
    rows = [
        f"| `{n}` | {_needed(n)} | {meaning} |" for n, _, meaning in meanings(Market) if n in KEYS
    ]
    example = (EXAMPLES / "markets.toml").read_text()
    return _MARKETS.format(keys="\n".join(rows), example=example)


def _needed(key: str) -> str:
    kinds = [f"`{name}`" for name, kind in KINDS.items() if key in kind.needs]
    if kinds:
        return f"of {', '.join(kinds)}, unless planned"
    return "always" if key in ("id", "name", "status", "kind") else ""


def markets_schema() -> str:
    """The schema of the markets file, for editors."""
    address = {"type": "string", "pattern": "^0x[0-9a-fA-F]{40}$"}
    texts = {"type": "array", "items": {"type": "string"}}
    forms: dict[str, dict[str, Any]] = {
        "status": {"enum": list(STATUSES)},
        "kind": {"enum": list(KINDS)},
        "chain_id": {"type": "integer", "minimum": 1},
        "symbols": texts,
        "hosts": texts,
        "exit": _exit_schema(),
    } | dict.fromkeys(("address", "share_value", "share_token"), address)
    said = {name: meaning for name, _, meaning in meanings(Market)}
    properties = {k: forms.get(k, {"type": "string"}) | {"description": said[k]} for k in KEYS}
    market = {
        "type": "object",
        "required": ["id", "name", "status", "kind"],
        "properties": properties,
        "additionalProperties": False,
        "allOf": [
            {
                "if": {
                    "properties": {"kind": {"const": name}, "status": {"not": {"const": "planned"}}}
                },
                "then": {"required": list(kind.needs)},
            }
            for name, kind in KINDS.items()
            if kind.needs
        ],
    }
    return _written(
        {
            "title": "The markets file",
            "type": "object",
            "properties": {
                "as_of": {"type": "string", "description": "The day of the last review."},
                "markets": {"type": "array", "items": market},
            },
            "additionalProperties": False,
        }
    )


def _exit_schema() -> dict[str, Any]:
    """`none`, or an exit of a kind with a word for each argument."""
    functions = sorted({r.function for recipes in EXITS.values() for r in recipes})
    words = {"enum": list(get_args(Word))}
    recipe = {
        "type": "object",
        "required": ["function", "args"],
        "properties": {
            "function": {"enum": functions},
            "args": {"type": "array", "items": words, "minItems": 3, "maxItems": 3},
        },
        "additionalProperties": False,
    }
    return {"oneOf": [{"const": "none"}, recipe]}


_TABLE: Final = (
    "| setting | type | default | secret | what it switches |",
    "|---|---|---|---|---|",
)


def _row(name: str, entry: Documented) -> str:
    cells = (f"`{name}`", _type(entry.field), _default(entry.field), _secret(entry), entry.meaning)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True)
    if value is None or value in ("", {}):
        return "unset"
    return f"`{value}`"


def _secret(entry: Documented) -> str:
    if SecretStr in _parts(entry.field):
        return "yes"
    if entry.name.removesuffix("_file") != entry.name and _is_of_a_secret(entry.name):
        return "a file"
    return CREDENTIAL_MARK if CREDENTIAL_MARK in _marks(entry.field) else "no"


def _is_of_a_secret(name: str) -> bool:
    other = Settings.model_fields.get(name.removesuffix("_file"))
    return name == "signer_seal_file" or (other is not None and SecretStr in _parts(other))


def _marks(field: FieldInfo) -> list[Any]:
    """What stands beside the type; beside a part of `… | None` too."""
    return [*field.metadata, *(m for p in get_args(field.annotation) for m in getattr(p, "__metadata__", ()))]  # fmt: skip


def _parts(field: FieldInfo) -> tuple[Any, ...]:
    of = field.annotation
    return get_args(of) if type(None) in get_args(of) else (of,)


def _type(field: FieldInfo) -> str:
    (of, *_) = (p for p in _parts(field) if p is not type(None))
    default = field.get_default(call_default_factory=True)
    if get_origin(of) is Literal:
        return "one of " + ", ".join(f"`{word}`" for word in get_args(of))
    if default in ("on", "off"):
        return "on or off"
    name = {int: "whole number", Decimal: "number", Path: "path"}.get(of, "text")
    if get_origin(of) is dict:
        return "table"
    marks = {key: value for m in field.metadata for key, value in _bounds(m).items()}
    return " ".join([name, *(_BOUNDS[key].format(f"{value:,}") for key, value in marks.items())])


def _bounds(mark: object) -> Mapping[str, int]:
    return {key: getattr(mark, key) for key in _BOUNDS if hasattr(mark, key)}


def settings_schema() -> str:
    """The schema of `wallet.toml`, for editors."""
    schema = Settings.model_json_schema()
    chain = schema["$defs"]["ChainSettings"]
    for part, model in ((schema, Settings), (chain, ChainSettings)):
        for entry in documented(model):
            found = part["properties"][entry.name]
            found.pop("title", None)
            found["description"] = entry.meaning
    return _written({"title": "wallet.toml", **schema, "additionalProperties": False})


def _written(schema: Mapping[str, Any]) -> str:
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps(draft | dict(schema), indent=2, ensure_ascii=False) + "\n"
