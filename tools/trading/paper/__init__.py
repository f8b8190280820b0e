"""Paper trading: the simulated exchange, its upkeep, and the routes of paper books."""
