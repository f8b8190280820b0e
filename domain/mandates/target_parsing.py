"""The entries of `allowed_targets` as a draft gives them, read strictly.

Hosts, venues and symbols stand beside the sentence that an owner signs: their forms leave no room
for words of a sentence (contract 1).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Final

from domain.mandates.purses import MAX_PAYEES, PurseTerms
from domain.mandates.targets import Target
from domain.money import Usdc
from domain.refusals import invalid
from domain.text import composed, text_problem

MAX_ENTRIES: Final = 32
MAX_CONTRACT_ENTRIES: Final = 24
MAX_NAMES: Final = 50
MAX_BYTES: Final = 8_192
"""Of all entries together, in the form that is stored."""

_SELECTOR: Final = re.compile(r"0x[0-9a-fA-F]{8}")
_LABEL: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
# Names of one label are words as well; of those only this one is a host of paid reads.
_HOST: Final = re.compile(rf"(?:localhost|{_LABEL}(?:\.{_LABEL})+)(?::[1-9][0-9]{{0,4}})?", re.I)
_HOST_MAX: Final = 253
_VENUE: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,30}[A-Za-z0-9])?")
_VENUE_FORM: Final = "the venue's name: 1 to 32 of letters A to Z, digits, '.', '_', '-'"
# BTC, xyz:XYZ100, PURR/USDC, @107, BTC-PERP.
_SYMBOL: Final = re.compile(r"[A-Za-z0-9@][A-Za-z0-9:._/-]{0,31}")

_KEYS: Final[Mapping[str, frozenset[str]]] = {
    "vault": frozenset({"kind"}),
    "x402": frozenset({"kind", "hosts", "purse"}),
    "venue": frozenset({"kind", "venue", "symbols", "label", "market"}),
    "contract": frozenset({"kind", "address", "selector", "self_args", "probe", "label", "market"}),
}


def validate_targets(
    entries: Sequence[object], address: Callable[[str], str]
) -> tuple[Target, ...]:
    """Read raw `allowed_targets` (contract 3); addresses leave in EIP-55 form, selectors and hosts
    in lower case.

    Errors: `invalid_request`, `invalid_address`.
    """
    if len(entries) > MAX_ENTRIES:
        raise invalid("allowed_targets", f"at most {MAX_ENTRIES} entries")
    targets = [_entry(f"allowed_targets.{n}", e, address) for n, e in enumerate(entries)]
    keys = [(t.kind, t.address, t.selector, t.venue) for t in targets]
    if len(set(keys)) != len(keys):
        raise invalid("allowed_targets", "an entry occurs twice")
    # Labels are left out: those of the draft are not kept, the service's own are short.
    rows = [replace(t, label=None, market=None).as_json() for t in targets]
    if len(json.dumps(rows)) > MAX_BYTES:
        problem = f"at most {MAX_BYTES} bytes in all; name fewer hosts and symbols"
        raise invalid("allowed_targets", problem)
    return tuple(targets)


def check_entry_count(targets: Sequence[Target], loc: str) -> None:
    """Refuse more contract entries than a factory gives a vault. Errors: `invalid_request`."""
    if sum(t.kind == "contract" for t in targets) > MAX_CONTRACT_ENTRIES:
        raise invalid(loc, f"at most {MAX_CONTRACT_ENTRIES} contract entries")


# Characters that a hurried reader confuses.
_LOOKALIKES: Final = str.maketrans("013457i", "oleastl")


def confusable_key(name: str) -> str:
    """The name with look-alike characters folded: two names with one key can be confused."""
    plain = re.sub(r"[^a-z0-9]", "", name.lower()).translate(_LOOKALIKES)
    return plain.replace("rn", "m").replace("vv", "w")


def _entry(loc: str, entry: Any, address: Callable[[str], str]) -> Target:
    kind = entry.get("kind") if isinstance(entry, Mapping) else None
    if not isinstance(kind, str) or kind not in _KEYS:
        raise invalid(f"{loc}.kind", "vault, x402, contract or venue")
    unknown_keys = sorted(set(entry) - _KEYS[kind])
    if unknown_keys:
        raise invalid(f"{loc}.{unknown_keys[0]}", f"not a field of a {kind} entry")
    if kind == "vault":
        return Target("vault")
    if kind == "x402":
        hosts = _names(f"{loc}.hosts", entry.get("hosts"), _host)
        return Target(
            "x402", hosts=hosts, purse=_purse(f"{loc}.purse", entry.get("purse"), address)
        )
    label, market = (_text(f"{loc}.{n}", entry.get(n)) for n in ("label", "market"))
    if kind == "venue":
        name = _matched(f"{loc}.venue", entry.get("venue"), _VENUE, _VENUE_FORM)
        symbols = _names(f"{loc}.symbols", entry.get("symbols"), _symbol)
        return Target("venue", venue=name, symbols=symbols, label=label, market=market)
    return Target(
        "contract",
        address(entry.get("address")),
        _selector(f"{loc}.selector", entry.get("selector")),
        _argument_positions(f"{loc}.self_args", entry.get("self_args")),
        _selector(f"{loc}.probe", entry["probe"]) if entry.get("probe") is not None else None,
        label,
        market,
    )


def _purse(loc: str, value: object, address: Callable[[str], str]) -> PurseTerms | None:
    """The limits of a purse; the hub that commits to them is the service's own to find."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise invalid(loc, "an object of limits; {} for the mandate's own")
    unknown_keys = sorted(set(value) - {f.name for f in fields(PurseTerms)})
    if unknown_keys:
        raise invalid(f"{loc}.{unknown_keys[0]}", "not a field of a purse")
    payees = value.get("payees") or []
    if not isinstance(payees, list) or len(payees) > MAX_PAYEES:
        raise invalid(f"{loc}.payees", f"a list of at most {MAX_PAYEES} addresses")
    listed = tuple(address(p) for p in payees)
    if len(set(listed)) != len(listed):
        raise invalid(f"{loc}.payees", "an address occurs twice")
    # A hub that is given tells which entries were of it; the hub of the limits is found anew.
    hub = address(value["hub"]) if value.get("hub") else ""
    limits = {n: v for n, v in value.items() if n.endswith("_usdc") and v is not None}
    amounts = {n: Usdc.parse(v) for n, v in limits.items()}
    return PurseTerms(payees=listed, hub=hub, **amounts)


def _names(loc: str, value: object, read: Callable[[str, object], str]) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) > MAX_NAMES:
        raise invalid(loc, f"a list of at most {MAX_NAMES} names")
    return tuple(read(f"{loc}.{n}", v) for n, v in enumerate(value))


def _matched(loc: str, value: object, form: re.Pattern[str], description: str) -> str:
    if not isinstance(value, str) or not form.fullmatch(value):
        raise invalid(loc, description)
    return value


def _host(loc: str, value: object) -> str:
    description = "a host name such as api.example.com, in ASCII, no scheme, no path"
    if isinstance(value, str) and len(value) > _HOST_MAX:
        raise invalid(loc, description)
    return _matched(loc, value, _HOST, description).lower()


def _symbol(loc: str, value: object) -> str:
    description = "a symbol such as BTC or xyz:XYZ100: 1 to 32 characters, no spaces"
    return _matched(loc, value, _SYMBOL, description)


def _selector(loc: str, value: object) -> str:
    return _matched(loc, value, _SELECTOR, "0x and 8 hex digits").lower()


def _text(loc: str, value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > 200:
        raise invalid(loc, "a text of at most 200 characters")
    problem = text_problem(value, lines=False)
    if problem is not None:
        raise invalid(loc, problem)
    return composed(value)


def _argument_positions(loc: str, value: object) -> tuple[int, ...]:
    if value is None:
        return ()
    if (
        not isinstance(value, list)
        or any(type(v) is not int or not 0 <= v <= 31 for v in value)
        or len(set(value)) != len(value)
    ):
        raise invalid(loc, "distinct argument positions from 0 to 31")
    return tuple(sorted(value))
