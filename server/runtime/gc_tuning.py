"""When a process that serves looks for circles among its objects."""

from __future__ import annotations

import gc
from typing import Final

# Objects made and not let go of before the collector looks for circles among them: a batch of
# requests in flight is not looked through again and again.
GARBAGE_AFTER: Final = 5_000


def freeze_startup_objects() -> None:
    """End a start: what it made lives as long as the process, so that the collector need not walk
    it again and again.
    """
    gc.collect()
    gc.freeze()
    # How much lives now is measured against what lived at the last full collection: from here on
    # nothing did, so that the next one is not put off until as much as a start makes has gathered.
    gc.collect()
    gc.set_threshold(GARBAGE_AFTER, *gc.get_threshold()[1:])
    gc.enable()
