"""Market information of the venue."""
