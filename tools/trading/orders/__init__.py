"""Orders: prepared, signed by their owner, sent once, and asked after until it is known what became
of them."""
