"""The owner's path: drafts, terms, vault, calls, approvals, reading."""
