"""Repositories: one module for each kind of row."""
