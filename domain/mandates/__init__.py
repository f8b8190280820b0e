"""Mandates: lifecycle, targets, clauses, terms, approvals."""
