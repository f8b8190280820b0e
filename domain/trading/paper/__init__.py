"""Paper: what an order would have met on the market's own book, and a book as the replay of its
fills."""
