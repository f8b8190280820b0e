"""The whole story on a real EVM, in one process tree."""
