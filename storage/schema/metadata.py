"""The whole schema: what every module that declares tables declared."""

from storage.schema import tables as tables
from storage.schema import trading_tables as trading_tables
from storage.schema.columns import metadata as metadata
