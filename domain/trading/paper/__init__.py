"""Paper trading: orders matched on the market's book, and accounts replayed from fills."""
