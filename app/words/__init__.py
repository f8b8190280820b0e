"""What the screens say: figures, times, addresses, and sentences."""
