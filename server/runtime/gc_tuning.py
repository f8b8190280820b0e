"""Garbage collection of a serving process, and the return of its free memory to the system."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

# Objects made and not let go of before the collector looks for circles among them: a batch of
# requests in flight is not looked through again and again.
GARBAGE_AFTER: Final = 5_000


# Of glibc's <malloc.h>.
M_TRIM_THRESHOLD: Final = -1
M_MMAP_THRESHOLD: Final = -3
LARGE: Final = 128 * 1024


def release_large_blocks() -> None:
    """Have large blocks go back to the system when they are let go of.

    glibc begins so, and stops with the first one: from there on it cuts blocks of that size out of
    its heap, where a small one that stays behind each keeps all below it. Every read of a
    connection is such a block.
    """
    # Another C library has no such function, and no such heap.
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, LARGE)
        mallopt(M_TRIM_THRESHOLD, LARGE)


@contextmanager
def loading() -> Iterator[None]:
    """Load modules inside. What is loaded stays; looking through it for garbage takes a seventh of
    a start.
    """
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        gc.enable()


def freeze_startup_objects() -> None:
    """End a start: what it made lives as long as the process, and is walked no more."""
    gc.collect()
    gc.freeze()
    # How much lives now is measured against what lived at the last full collection: from here on
    # nothing did, so that the next one is not put off until as much as a start makes has gathered.
    gc.collect()
    gc.set_threshold(GARBAGE_AFTER, *gc.get_threshold()[1:])
    gc.enable()
