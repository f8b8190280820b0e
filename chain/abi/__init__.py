"""Compiled contracts: ABI and bytecode, written by `make contracts`."""
