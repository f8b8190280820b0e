"""The catalogue: every operation of the service, declared once, with its handler."""
