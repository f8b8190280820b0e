"""Reads: every derivation that leaves the service."""
