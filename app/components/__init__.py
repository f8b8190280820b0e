"""Parts that several pages show: pure functions out of replies."""
