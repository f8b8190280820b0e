"""Processes: start-up, logs, instrumentation and their limits."""
