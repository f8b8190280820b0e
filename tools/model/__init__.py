"""Declarations of operations: models, fields, input policy and limits."""
