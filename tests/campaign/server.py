"""The service as its command line starts it, on a clock that the campaign can push: the machine's, and the seconds that a file holds."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from server import wiring
from server.cli.main import main

PUSHED = Path(os.environ["CAMPAIGN_CLOCK"])


def now(_: wiring.SystemClock) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=float(PUSHED.read_text() or 0))


if __name__ == "__main__":
    wiring.SystemClock.now = now  # type: ignore[method-assign]
    main()
