"""The perpetuals venue: signing, reads within its weight budget, and one relayed action."""
