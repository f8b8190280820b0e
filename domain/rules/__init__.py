"""What is allowed: caps, checks before an action, violations after it."""
