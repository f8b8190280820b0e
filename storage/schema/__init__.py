"""Schema: tables, columns, revisions and migration."""
