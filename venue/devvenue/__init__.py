"""A local venue: real signatures, books, matching and margin, for tests and demonstrations only."""

from venue.devvenue.core import DevVenue
from venue.devvenue.faults import Fault
from venue.devvenue.refusals import Malformed
from venue.devvenue.server import application, serve, serve_in_thread
from venue.devvenue.state import Rules

__all__ = [
    "DevVenue",
    "Fault",
    "Malformed",
    "Rules",
    "application",
    "serve",
    "serve_in_thread",
]
