"""Keeper: periodic work on vaults, logs and notices."""
