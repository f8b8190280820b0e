"""Venue accounts: linking, keys, fees and permissions."""
