"""Reads of blocks, vault states, receipts and transactions."""
