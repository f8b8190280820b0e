"""What handlers need, brought for many of them at once."""
