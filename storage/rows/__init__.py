"""The repositories: one module a kind of row."""
