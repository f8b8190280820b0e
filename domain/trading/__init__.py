"""The trading side: what the venue said, its products, and a person's own account there."""
