"""What needs no key: the Hall, markets, ways to bring money in."""
