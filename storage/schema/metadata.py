"""The whole schema: what every module that declares tables declared."""

from storage.schema.columns import metadata as metadata
