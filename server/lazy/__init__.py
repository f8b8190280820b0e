"""Components that are imported at their first use, so that a process starts fast."""
