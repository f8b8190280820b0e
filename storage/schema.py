"""The whole schema: what every module that declares tables declared."""

from storage import tables as tables
from storage import trading_tables as trading_tables
from storage.columns import metadata as metadata
