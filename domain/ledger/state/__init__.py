"""Ledger state: the projections folded from events."""
