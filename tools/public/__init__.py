"""Public operations without a key: the Hall, markets and deposit routes."""
