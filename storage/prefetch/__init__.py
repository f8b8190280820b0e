"""Prefetch: the rows that many handlers declare, read by one statement."""
