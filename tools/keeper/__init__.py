"""What the house does by itself, and a family may ask for early."""
