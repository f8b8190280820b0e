"""THE catalogue: every operation of the service, once."""

from __future__ import annotations

from typing import Final

from tools import operator, signin
from tools.acting import execute, held, reconcile, refused, reports
from tools.agents import activity, auctions, balances, offers, policy, registry, transfers
from tools.call.operation import Operation
from tools.keeper import settlement
from tools.mandates import (
    approvals,
    calls,
    drafts,
    funding,
    leaving,
    notes,
    reading,
    recording,
    series,
    sponsorship,
    statements,
    stream,
    terms,
    unwinding,
    vault,
    waiting,
    webhooks,
)
from tools.public import chains, deposits, hall, markets
from tools.trading import (
    allowlist,
    builder_fee,
    enable,
    intents,
    own,
    own_status,
    products,
    relay,
    verify,
)
from tools.trading.door import closing, desk
from tools.trading.door import orders as door_orders
from tools.trading.door import products as door_products
from tools.trading.orders import changing, reads, routes, status
from tools.trading.paper import books as paper_books

OPERATIONS: Final[tuple[Operation, ...]] = (
    *signin.OPERATIONS,
    *registry.OPERATIONS,
    *policy.OPERATIONS,
    *balances.OPERATIONS,
    *offers.OPERATIONS,
    *activity.OPERATIONS,
    *transfers.OPERATIONS,
    *hall.OPERATIONS,
    *markets.OPERATIONS,
    *chains.OPERATIONS,
    *deposits.OPERATIONS,
    *notes.OPERATIONS,
    *drafts.OPERATIONS,
    *reading.OPERATIONS,
    *series.OPERATIONS,
    *stream.OPERATIONS,
    *terms.OPERATIONS,
    *vault.OPERATIONS,
    *funding.OPERATIONS,
    *execute.OPERATIONS,
    *held.OPERATIONS,
    *unwinding.OPERATIONS,
    *calls.OPERATIONS,
    *leaving.OPERATIONS,
    *recording.OPERATIONS,
    *reports.OPERATIONS,
    *refused.OPERATIONS,
    *approvals.OPERATIONS,
    *waiting.OPERATIONS,
    *webhooks.OPERATIONS,
    *reconcile.OPERATIONS,
    *statements.OPERATIONS,
    *settlement.OPERATIONS,
    *auctions.OPERATIONS,
    *sponsorship.OPERATIONS,
    *operator.OPERATIONS,
    *allowlist.OPERATIONS,
    *builder_fee.OPERATIONS,
    *products.OPERATIONS,
    *relay.OPERATIONS,
    *own.OPERATIONS,
    *intents.OPERATIONS,
    *own_status.OPERATIONS,
    *enable.OPERATIONS,
    *verify.OPERATIONS,
    *routes.OPERATIONS,
    *changing.OPERATIONS,
    *reads.OPERATIONS,
    *status.OPERATIONS,
    *door_products.OPERATIONS,
    *desk.OPERATIONS,
    *door_orders.OPERATIONS,
    *closing.OPERATIONS,
    *paper_books.OPERATIONS,
)
