"""Replies of operations to the screens."""

from __future__ import annotations

from typing import TypeAlias

from domain.wire_fields import JsonObject

Json: TypeAlias = JsonObject
"""What an operation answered, or a part of it: its shape stands in docs/openapi.json. The view that
is made from it alone looks inside."""
