"""Charts as figures on a plane; the template draws them."""
