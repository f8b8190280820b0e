"""Dispatch: how one call travels from its transport to its handler and back."""
