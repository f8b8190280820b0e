"""Refusal kinds: every refusal of the service, by the thing that it blocks."""
