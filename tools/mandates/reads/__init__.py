"""Mandate reads: one mandate, its days, statements and stream."""
