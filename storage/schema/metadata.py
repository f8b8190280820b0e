"""Schema metadata: all tables of all modules that declare some."""

from storage.schema import tables as tables
from storage.schema import trading_tables as trading_tables
from storage.schema.columns import metadata as metadata
