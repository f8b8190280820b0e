"""Trading: venue values, products, and a person's own account at the venue."""
