"""Keeper jobs: what the service does by itself, and handlers may start early."""
