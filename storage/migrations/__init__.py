"""Schema revisions, oldest first; run by `storage.schema.migrate`."""
