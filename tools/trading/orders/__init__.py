"""Orders: prepared, signed by their owner, sent once, and polled until their outcome is
known."""
