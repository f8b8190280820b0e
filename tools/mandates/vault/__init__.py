"""Vault transactions: creation, funding, owner calls and exits."""
