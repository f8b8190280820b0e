"""Strangers, and what they can make the service spend."""
