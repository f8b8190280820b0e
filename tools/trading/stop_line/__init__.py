"""The keeper of what mandates hold at the venue."""
