"""Ledger events: kinds, payloads and their codecs."""
