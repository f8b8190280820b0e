"""THE catalogue: every operation of the service, once."""

from __future__ import annotations

from typing import Final

from tools import operator, sign_in
from tools.actions import (
    act,
    approval_detail,
    event_reports,
    execute_call,
    outcome_lookup,
    pay,
    refusal_reports,
)
from tools.agents import (
    activity_feed,
    auction_ledger,
    balances,
    connected_apps,
    connections,
    hosted_key,
    offers,
    policy,
    registry,
    transfer_reports,
)
from tools.keeper import settlement
from tools.mandates import approvals, notice_receivers, notice_settings, webhooks
from tools.mandates.drafting import drafts, purpose_notes, terms
from tools.mandates.reads import (
    daily_series,
    ledger_stream,
    mandate_reads,
    statement_rows,
    statements,
)
from tools.mandates.vault import (
    exit_plan,
    funding,
    gas_sponsorship,
    owner_calls,
    purse_calls,
    vault_creation,
)
from tools.model.operation import Operation
from tools.public import deposits, hall, markets
from tools.trading.account import allowlist, builder_fee, intents, key_approval, linking, venue_keys
from tools.trading.account import status as own_status
from tools.trading.door import orders as door_orders
from tools.trading.door import overview
from tools.trading.door import products as door_products
from tools.trading.market import indices, venue_info
from tools.trading.orders import amend, eligibility, queries, routes
from tools.trading.paper import books as paper_books

OPERATIONS: Final[tuple[Operation, ...]] = (
    *sign_in.OPERATIONS,
    *registry.OPERATIONS,
    *connections.OPERATIONS,
    *connected_apps.OPERATIONS,
    *hosted_key.OPERATIONS,
    *policy.OPERATIONS,
    *balances.OPERATIONS,
    *offers.OPERATIONS,
    *activity_feed.OPERATIONS,
    *transfer_reports.OPERATIONS,
    *hall.OPERATIONS,
    *markets.OPERATIONS,
    *deposits.OPERATIONS,
    *purpose_notes.OPERATIONS,
    *drafts.OPERATIONS,
    *mandate_reads.OPERATIONS,
    *daily_series.OPERATIONS,
    *ledger_stream.OPERATIONS,
    *terms.OPERATIONS,
    *vault_creation.OPERATIONS,
    *funding.OPERATIONS,
    *execute_call.OPERATIONS,
    *act.OPERATIONS,
    *pay.OPERATIONS,
    *approval_detail.OPERATIONS,
    *owner_calls.OPERATIONS,
    *purse_calls.OPERATIONS,
    *exit_plan.OPERATIONS,
    *vault_creation.TRANSACTIONS,
    *event_reports.OPERATIONS,
    *refusal_reports.OPERATIONS,
    *approvals.OPERATIONS,
    *webhooks.OPERATIONS,
    *notice_settings.OPERATIONS,
    *notice_receivers.OPERATIONS,
    *outcome_lookup.OPERATIONS,
    *statements.OPERATIONS,
    *statement_rows.OPERATIONS,
    *settlement.OPERATIONS,
    *auction_ledger.OPERATIONS,
    *gas_sponsorship.OPERATIONS,
    *operator.OPERATIONS,
    *allowlist.OPERATIONS,
    *builder_fee.OPERATIONS,
    *indices.OPERATIONS,
    *venue_info.OPERATIONS,
    *linking.OPERATIONS,
    *intents.OPERATIONS,
    *own_status.OPERATIONS,
    *key_approval.OPERATIONS,
    *venue_keys.OPERATIONS,
    *routes.OPERATIONS,
    *amend.OPERATIONS,
    *queries.OPERATIONS,
    *eligibility.OPERATIONS,
    *door_products.OPERATIONS,
    *overview.OPERATIONS,
    *door_orders.OPERATIONS,
    *paper_books.OPERATIONS,
)
