"""Rules: caps, checks before an action, violations after it."""
