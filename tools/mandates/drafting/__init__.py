"""Drafts: fields, purpose notes and signed terms."""
