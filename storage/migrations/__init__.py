"""Schema revisions, oldest first; run by `storage.migrate`."""
