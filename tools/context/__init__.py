"""Request context: access, credentials, snapshots and caches that handlers share."""
