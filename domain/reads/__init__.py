"""What is shown: every derivation that leaves the service."""
