"""Components of several pages, each with the macro that draws it."""
