"""A purpose note, read item by item: an item is one of a closed list of forms, or it is unclear."""
