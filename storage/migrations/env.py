"""Alembic's entry: the connection comes from `storage.schema.migrate`."""

from alembic import context

from storage.schema.metadata import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=False,
)
with context.begin_transaction():
    context.run_migrations()
