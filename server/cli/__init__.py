"""Command line: `wallet` and its commands."""
