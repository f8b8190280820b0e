"""The trading side: relays, products, the builder fee, and a person's own account at the venue."""
