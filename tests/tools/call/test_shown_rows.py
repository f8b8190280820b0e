"""What is stored of a row and what is shown of it are one form: two writers cannot disagree."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.ledger.events import payloads as p
from domain.ledger.events.payload_codec import write
from domain.reads.event_rows import payload
from domain.reads.row_models import Payload
from domain.rules.rule_table import BY_CODE
from tests.domain.ledger.test_payloads import TOLD
from tools.model.serialization import to_json

NUMBERS = st.none() | st.sampled_from(["0.000000", "12.500000"])
DETAILS = st.fixed_dictionaries(
    {"clause": st.sampled_from([2, 3]), "allowed": NUMBERS, "used": NUMBERS, "attempted": NUMBERS,
     "bound_by": st.sampled_from([None, "mandate", "policy"])}
)  # fmt: skip
BROKEN = st.dictionaries(st.sampled_from(sorted(BY_CODE)), DETAILS, min_size=1).map(
    lambda detail: p.Violation(codes=tuple(detail), detail=detail)
)


@pytest.mark.slow
@settings(max_examples=300)
@given(row=TOLD, violation=st.none() | BROKEN)
def test_a_shown_payload_is_the_stored_one(
    row: p.EventPayload, violation: p.Violation | None
) -> None:
    row = replace(row, violation=violation)
    stored = write(row)
    # The block by which a mark is judged later is the service's own matter, and not shown.
    stored.get("marked", {}).pop("block_hash", None)
    assert to_json(payload(row), Payload) == stored
