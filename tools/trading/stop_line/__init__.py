"""Stop line at the venue: the keeper of mandates' positions."""
