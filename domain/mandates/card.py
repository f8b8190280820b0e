"""The mandate card: the header and footer of the ten clauses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from domain.mandates.mandate import Mandate
from domain.money import Usdc
from domain.text import format_usdc
from domain.times import Timestamp
from domain.wire_fields import copy_fields, described


@dataclass(frozen=True, slots=True, kw_only=True)
class CardHeader:
    """The lines above the clauses: parties, amount, end."""

    title: str
    purpose: str = field(metadata=described("the owner's own words"))
    budget_usdc: Usdc
    agent_id: str | None
    agent_name: str | None = field(metadata=described("the owner's name for the agent"))
    chain_id: int
    horizon_days: int
    ends_at: Timestamp | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CardFooter:
    """The lines below the clauses: the effect of a signature, and the limits of every promise."""

    lines: tuple[str, ...]
    vault_address: str | None
    signed: bool


def card_header(mandate: Mandate) -> CardHeader:
    """The card's header, from the mandate's terms."""
    agent = "any agent that accepts it" if mandate.open_board else "an agent to be named"
    if mandate.agent_id is not None:
        # By its id: the name is the owner's own text, and a field of its own.
        agent = f"agent {mandate.agent_id}"
    unclear = "budget_usdc" in mandate.unclear_terms
    amount = format_usdc(str(mandate.budget_usdc)) if not unclear else "A draft"
    return copy_fields(CardHeader, mandate, title=f"{amount} for {agent}")


FOOTER: Final = (
    "Your signature moves no money. You create the vault, fund it and can leave it with your own "
    "wallet.",
    "The service holds no custody of your funds and cannot widen these terms.",
    "A budget can be lost down to the stop line, and further where a market fails in one step.",
)


def card_footer(mandate: Mandate) -> CardFooter:
    """The card's footer: the fixed lines, the vault, whether it is signed."""
    return CardFooter(
        lines=FOOTER, vault_address=mandate.vault_address, signed=mandate.signed is not None
    )
