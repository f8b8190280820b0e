"""From an owner's plain words to the terms of a draft."""
