"""What follows from the terms alone is made once, and anew when they or a switch changed."""

from __future__ import annotations

from dataclasses import replace

from domain.money import Usdc
from domain.reads.summary import OF_TERMS, PARTS
from domain.rules.snapshot import MandateSnapshot
from tests.domain.material import case
from tools.context.render_cache import RenderCache


def _shown(kept: RenderCache, of: MandateSnapshot) -> list[object]:
    return [
        kept.terms_part(of, name, lambda name=name: PARTS[name](of)) for name in sorted(OF_TERMS)
    ]


def test_parts_of_the_terms_are_kept_for_a_mandate_that_is_read_again() -> None:
    kept, one = RenderCache(), case()
    first = _shown(kept, one)
    again = _shown(
        kept,
        replace(one, mandate=replace(one.mandate), now=one.now.replace(second=one.now.second ^ 1)),
    )
    assert all(a is b for a, b in zip(first, again, strict=True))


def test_a_changed_mandate_or_switch_makes_them_anew() -> None:
    kept, one = RenderCache(), case()
    _shown(kept, one)
    richer = replace(one, mandate=replace(one.mandate, budget_usdc=Usdc.parse("77")))
    switched = replace(one, switches=replace(one.switches, approval_gate=False))
    for other in (richer, switched, one):
        assert _shown(kept, other) == [PARTS[name](other) for name in sorted(OF_TERMS)]


def test_parts_of_the_terms_look_at_nothing_but_the_mandate_and_the_switches() -> None:
    one = case()
    later = replace(one, now=one.now.replace(year=one.now.year + 3), chain=None, policy=None)
    for name in OF_TERMS:
        assert PARTS[name](one) == PARTS[name](later)
