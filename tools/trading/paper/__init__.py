"""Paper: the desk that fills orders on the market's own books, its round, and the books' routes."""
