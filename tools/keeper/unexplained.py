"""Unexplained payments: flagged once their hour is over."""

from __future__ import annotations

from collections.abc import Sequence

from domain.ledger.events.event import LedgerKind, NewEvent, Reporter
from domain.ledger.events.payload_codec import written
from domain.ledger.events.payloads import PaymentUnexplained
from domain.ledger.state.purse_book import Payment
from domain.mandates.mandate import Mandate
from domain.money import Usdc
from domain.rules.purse_reports import overdue
from tools.keeper.ingest import IngestContext, judged


def flag_unexplained(ctx: IngestContext, mandates: Sequence[Mandate]) -> int:
    """Flag every payment of which nobody said within the hour what it bought; how many."""
    flagged = 0
    for mandate in mandates:
        if not mandate.has_purse or ctx.uow.mandates.get(mandate.public_id, lock=True) is None:
            continue
        for nonce, payment in overdue(ctx.uow.ledger.state(mandate.public_id), ctx.now):
            ctx.append(mandate.public_id, _flag(ctx, mandate, nonce, payment))
            flagged += 1
    return flagged


def _flag(ctx: IngestContext, mandate: Mandate, nonce: str, payment: Payment) -> NewEvent:
    body = PaymentUnexplained(event_id=payment.event_id, nonce=nonce)
    return judged(
        ctx,
        mandate,
        NewEvent(
            kind=LedgerKind.NOTE,
            reported_by=Reporter.KEEPER,
            occurred_at=ctx.now,
            amount_usdc=Usdc(payment.amount),
            chain_id=mandate.chain_id,
            payload=written(body),
        ),
    )
