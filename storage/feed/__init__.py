"""Ledger feed: rows of all mandates in commit order."""
