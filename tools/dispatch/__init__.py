"""Dispatch: runs one call from its transport to its handler and back."""
