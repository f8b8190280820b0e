"""The purpose note: plain words into terms, whole clauses or nothing."""
