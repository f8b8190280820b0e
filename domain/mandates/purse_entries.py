"""The entries of a purse: the two calls of its hub that a vault is let make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from domain.mandates.purses import PurseChain, PurseFunction, PurseTerms, check_limits
from domain.mandates.targets import Target
from domain.money import Usdc
from domain.refusals import invalid

SELECTORS: Final[dict[str, PurseFunction]] = {"0xca1d209d": "fund", "0x9890220b": "drain"}
_LABELS: Final = {"fund": "Purse for paid reads: fund", "drain": "Purse for paid reads: drain"}


def purse_function(purse: PurseTerms | None, target: str, selector: str) -> PurseFunction | None:
    """The function of the purse's hub that a call is; None for any other call."""
    if purse is None or target.lower() != purse.hub.lower():
        return None
    return SELECTORS.get(selector.lower())


def purse_of(targets: Sequence[Target]) -> PurseTerms | None:
    """The purse of some terms."""
    return next((t.purse for t in targets if t.purse is not None), None)


def with_purse(
    targets: Sequence[Target], chain: PurseChain, per_tx_cap: Usdc, daily_cap: Usdc
) -> tuple[Target, ...]:
    """The entries with the calls of the purse that they name, and with its hub; a hub of the chain
    that is named by its address is the same purse.

    Errors: `invalid_request`, `not_configured`.
    """
    paid = next((t for t in targets if t.kind == "x402"), Target("x402"))
    by_hand = [t for t in targets if _is_at(t, chain.plain_hub)]
    if paid.purse is None and not by_hand:
        return tuple(targets)
    purse = paid.purse or PurseTerms()
    check_limits(purse, per_tx_cap, daily_cap, "allowed_targets.purse")
    own = chain.purse_hub(purse)
    for entry in (t for t in targets if _is_at(t, own) or t in by_hand):
        _check_entry(entry, own, purse.hub)
    hubs = (own, purse.hub, chain.plain_hub)
    others = [t for t in targets if not any(_is_at(t, hub) for hub in hubs)]
    if any((t.selector or "").lower() in SELECTORS for t in others if t.kind == "contract"):
        # What a second purse pays is nobody's to follow.
        raise invalid("allowed_targets", "a second hub: the mandate has one purse")
    whole = replace(paid, purse=replace(purse, hub=own))
    listed = [whole if t.kind == "x402" else t for t in others]
    if whole not in listed:
        listed.append(whole)
    calls = (
        Target("contract", own, selector, label=_LABELS[name])
        for selector, name in SELECTORS.items()
    )
    return (*listed, *calls)


def _check_entry(entry: Target, own: str, former: str) -> None:
    """Refuse what no purse's entry may say. Errors: `invalid_request`."""
    if entry.probe is not None:
        raise invalid("allowed_targets", "what lies in a purse is spent: no probe values it")
    if (entry.selector or "").lower() not in SELECTORS:
        raise invalid("allowed_targets", "of a purse's hub only fund(uint256) and drain()")
    if not _is_at(entry, own) and not _is_at(entry, former):
        raise invalid("allowed_targets", "a hub that is not the one of the purse's limits")


def _is_at(entry: Target, address: str | None) -> bool:
    return entry.kind == "contract" and bool(address) and entry.address == address
