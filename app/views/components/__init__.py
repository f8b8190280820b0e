"""What several pages show, each with the macro that draws it."""
