"""The terms an owner signs as EIP-712 typed data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal

from domain.mandates.mandate import OPEN_AGENT, Mandate, TermsFrame

Version = Literal["1", "2"]
SignerType = Literal["eoa", "erc1271", "erc6492"]
DAY_S: Final = 86_400


def members(text: str) -> tuple[tuple[str, str], ...]:
    """(name, type) of the members of a struct, out of `type name,type name`."""
    return tuple((name, type) for type, name in (member.split() for member in text.split(",")))


def types(**structs: Sequence[tuple[str, str]]) -> dict[str, list[dict[str, str]]]:
    """The structs of typed data, as a wallet takes them."""
    return {of: [{"name": n, "type": t} for n, t in struct] for of, struct in structs.items()}


# As EIP-712 writes the members of a struct.
_V2: Final = members(
    "string publicId,address owner,address agent,uint256 budgetUsdc,uint256 perTxCap,"
    "uint256 dailyCap,uint256 stopFloor,uint16 stopFloorBps,uint32 horizonDays,uint64 endsAt,"
    "uint16 agentFeeBps,uint256 approvalAbove,uint8 onFloor,bytes32 allowedTargetsHash,"
    "bytes32 guardTargetsHash,uint64 issuedAt,uint256 nonce"
)
_NOT_IN_V1: Final = frozenset(
    {"perTxCap", "dailyCap", "approvalAbove", "onFloor", "guardTargetsHash"}
)
FIELDS: Final[Mapping[Version, tuple[tuple[str, str], ...]]] = {
    "2": _V2,
    "1": tuple(f for f in _V2 if f[0] not in _NOT_IN_V1),
}
NAME: Final = "MandateVault"
DOMAIN: Final = members("string name,string version,uint256 chainId,address verifyingContract")


@dataclass(frozen=True, slots=True, kw_only=True)
class TermsStatus:
    """The signed terms, compared with the mandate as it stands; computed on every read, never
    stored.

    `digest_matches` and `signer_matches` are null where nothing was signed or the chain is not set.
    """

    signed: bool
    version: Version | None
    digest_matches: bool | None = None
    signer_matches: bool | None = None
    signer_type: SignerType | None = None
    checked_block: int | None = None


def frame(mandate: Mandate, nonce: int, now: datetime) -> TermsFrame:
    """Fix what the terms need beyond the draft: the times and the nonce."""
    issued = int(now.astimezone(UTC).timestamp())
    return TermsFrame(issued, issued + mandate.horizon_days * DAY_S, nonce)


def message(
    mandate: Mandate, fixed: TermsFrame, allowed_hash: str, guard_hash: str
) -> dict[str, str]:
    """The typed data's message, version 2; integers as decimal strings, amounts in base units.

    Source: spec 2.12, contract 4 (approvalAbove null is 0; an unnamed agent is the zero address).
    """
    above = mandate.approval_above_usdc
    return {
        "publicId": mandate.public_id,
        "owner": mandate.owner_address,
        "agent": mandate.agent_address or OPEN_AGENT,
        "budgetUsdc": str(mandate.budget_usdc.micros),
        "perTxCap": str(mandate.per_tx_cap.micros),
        "dailyCap": str(mandate.daily_cap.micros),
        "stopFloor": str(mandate.floor.micros),
        "stopFloorBps": str(mandate.stop_floor_bps),
        "horizonDays": str(mandate.horizon_days),
        "endsAt": str(fixed.ends_at),
        "agentFeeBps": str(mandate.payout_bps),
        "approvalAbove": str(above.micros if above is not None else 0),
        "onFloor": "1" if mandate.on_floor == "close" else "0",
        "allowedTargetsHash": allowed_hash,
        "guardTargetsHash": guard_hash,
        "issuedAt": str(fixed.issued_at),
        "nonce": str(fixed.nonce),
    }


def typed_data(
    values: Mapping[str, str], version: Version, chain_id: int, verifying_contract: str
) -> dict[str, object]:
    """The whole typed-data object, as a wallet takes it."""
    return {
        "types": types(EIP712Domain=DOMAIN, MandateTerms=FIELDS[version]),
        "primaryType": "MandateTerms",
        "domain": {
            "name": NAME,
            "version": version,
            "chainId": chain_id,
            "verifyingContract": verifying_contract,
        },
        "message": {n: values[n] for n, _ in FIELDS[version]},
    }


def agrees(mandate: Mandate, values: Mapping[str, str], allowed_hash: str, guard_hash: str) -> bool:
    """True where the signed values are still the mandate's; the value of `digest_matches`."""
    fixed = TermsFrame(int(values["issuedAt"]), int(values["endsAt"]), int(values["nonce"]))
    now = message(mandate, fixed, allowed_hash, guard_hash)
    # An agent that accepted from the open board came after the signature, which names no agent.
    ignored = {"agent"} if str(values.get("agent")) == OPEN_AGENT else set()
    return all(str(now[n]) == str(v) for n, v in values.items() if n not in ignored)
