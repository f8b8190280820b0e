"""The perpetuals venue: signing, reading within its weight budget, and the one action that is
relayed."""
