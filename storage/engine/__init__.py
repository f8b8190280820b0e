"""Database engine: connections, write batches and background jobs."""
