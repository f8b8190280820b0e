"""The terms for devices that show words: an ERC-7730 descriptor of the seventeen signed values.

Source: ERC-7730, "EIP-712 binding context"; labels are those of the review page.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from app.words.fields import FIELDS, Kind, plain_value
from domain.mandates.terms import DOMAIN, NAME
from domain.mandates.terms import FIELDS as TYPES

SCHEMA: Final = (
    "https://raw.githubusercontent.com/LedgerHQ/clear-signing-erc7730-registry/master/specs/"
    "erc7730-v1.schema.json"
)
INTENT: Final = "Mandate an agent"
SOURCE: Final = "https://eips.ethereum.org/EIPS/eip-7730"
ENUM: Final = "onFloor"
_USDC: Final = {"base": "USDC", "decimals": 6}
_PERCENT: Final = {"base": "%", "decimals": 2}
_DAYS: Final = {"base": "days", "decimals": 0}
# How a device shows each kind; a token's address would tie the descriptor to one chain's USDC.
SHOWN: Final[Mapping[Kind, tuple[str, Mapping[str, object]]]] = {
    "text": ("raw", {}),
    "address": ("addressName", {"types": ["eoa", "wallet", "contract"], "sources": ["local"]}),
    "usdc": ("unit", _USDC),
    "asked": ("unit", _USDC),
    "bps": ("unit", _PERCENT),
    "days": ("unit", _DAYS),
    "time": ("date", {"encoding": "timestamp"}),
    "floor": ("enum", {"$ref": f"$.metadata.enums.{ENUM}"}),
    "hash": ("raw", {}),
    "nonce": ("raw", {}),
}


def _field(name: str, kind: Kind, label: str) -> dict[str, object]:
    format_, params = SHOWN[kind]
    field: dict[str, object] = {"path": name, "label": label, "format": format_}
    return field | ({"params": dict(params)} if params else {})


def descriptor(factories: Iterable[tuple[int, str]] = ()) -> dict[str, object]:
    """The descriptor of the newest terms; `factories` are (chain id, address) of who verifies
    them, none where it is for every operator.
    """
    types = {
        "EIP712Domain": [{"name": n, "type": t} for n, t in DOMAIN],
        "MandateTerms": [{"name": n, "type": t} for n, t in TYPES["2"]],
    }
    return {
        "$schema": SCHEMA,
        "context": {
            "eip712": {
                "domain": {"name": NAME, "version": "2"},
                "deployments": [{"chainId": c, "address": a} for c, a in factories],
                "schemas": [{"primaryType": "MandateTerms", "types": types}],
            }
        },
        "metadata": {
            "owner": NAME,
            "info": {"legalName": NAME, "url": SOURCE},
            "enums": {ENUM: {n: plain_value("floor", n) for n in ("0", "1")}},
        },
        "display": {
            "formats": {
                "MandateTerms": {
                    "intent": INTENT,
                    "fields": [_field(n, kind, label) for n, (_, kind, label) in FIELDS.items()],
                    "required": list(FIELDS),
                }
            }
        },
    }
