"""What several pages show: pure functions out of replies."""
