"""Words of the screens: figures, times, addresses, and sentences."""
