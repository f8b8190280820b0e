"""How one call travels."""
