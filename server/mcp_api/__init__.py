"""MCP: the server, its transports, sessions and the local proxy."""
