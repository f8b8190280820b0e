"""Composition: settings, wiring, MCP, ticks, the command line."""
