"""Reads of logs."""
