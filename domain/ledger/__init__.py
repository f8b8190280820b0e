"""The ledger: its rows, and the state folded from them."""
