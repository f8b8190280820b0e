"""The trade door: an owner's own products, positions, limits, orders and closes."""
