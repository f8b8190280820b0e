"""Alembic's entry: the connection comes from `storage.migrate`."""

from alembic import context

from storage.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=False,
)
with context.begin_transaction():
    context.run_migrations()
