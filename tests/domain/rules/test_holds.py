"""Which calldata a claim is of: the nearest amount among what it can be of, each taken once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from domain.ledger.state.claimed import PendingClaim
from domain.mandates.actions import Action
from domain.mandates.approvals import Reservation
from domain.money import ZERO, Usdc
from domain.rules.caps import held_amounts
from domain.rules.snapshot import MandateSnapshot
from tests.domain.material import case

NOW = datetime(2026, 11, 20, tzinfo=UTC)
PLACES = ("0xaa", "0xbb")
SELECTORS = ("0x01020304", "0x05060708")
AMOUNTS = st.integers(0, 12)
HANDED_OUT = st.tuples(
    AMOUNTS, st.sampled_from(PLACES), st.sampled_from(SELECTORS), st.integers(0, 12)
)
SAID = st.tuples(
    AMOUNTS, st.sampled_from((None, "0xAA", "0xbb", "0xcc")), st.sampled_from((None, *SELECTORS))
)


def reservation(number: int, told: tuple[int, str, str, int]) -> Reservation:
    amount, target, selector, second = told
    action = Action(
        action_hash=f"0x{number:064x}", target=target, selector=selector,
        data_hash="0x", amount=Usdc(amount),
    )  # fmt: skip
    return Reservation(
        public_id="m_1", action=action, made_at=NOW + timedelta(seconds=second), expires_at=NOW + timedelta(hours=1), sender="0x1",
    )  # fmt: skip


def with_claims(
    reservations: Sequence[Reservation], claims: Sequence[PendingClaim]
) -> MandateSnapshot:
    plain = case()
    waiting = {f"ev_{n}": c for n, c in enumerate(claims)}
    claimed = replace(plain.state.claimed, pending=waiting)
    return replace(
        plain, reservations=tuple(reservations), state=replace(plain.state, claimed=claimed)
    )


def one_after_the_other(
    reservations: Sequence[Reservation], claims: Sequence[PendingClaim]
) -> list[Usdc]:
    """The rule as it is said, without an eye on its cost."""
    free, left = list(reservations), {r.action.action_hash: r.amount for r in reservations}
    for claim in filter(lambda c: c.out, claims):
        fitting = [
            r
            for r in free
            if claim.address in (None, r.action.target, r.action.target.replace("aa", "AA"))
            and claim.selector in (None, r.action.selector)
            and r.made_at <= claim.at
        ]
        if fitting:
            near = min(fitting, key=lambda r: abs(r.amount.micros - claim.out))
            free.remove(near)
            left[near.action.action_hash] = max(ZERO, near.amount - Usdc(claim.out))
    return [left[r.action.action_hash] for r in reservations]


@given(st.lists(HANDED_OUT, max_size=12), st.lists(SAID, max_size=12))
def test_each_claim_takes_the_nearest_that_it_can_be_of(
    handed_out: list[tuple[int, str, str, int]],
    said: list[tuple[int, str | None, str | None]],
) -> None:
    reservations = [reservation(n, told) for n, told in enumerate(handed_out)]
    claims = [
        PendingClaim(
            tx_hash=f"0x{n}",
            at=NOW + timedelta(seconds=n),
            out=out,
            address=address,
            selector=selector,
        )
        for n, (out, address, selector) in enumerate(said)
    ]
    found = held_amounts(with_claims(reservations, claims))
    assert [h.amount for h in found] == one_after_the_other(reservations, claims)
