"""Integrity: backups and the verification of stored hashes."""
