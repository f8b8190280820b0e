"""The signer itself, beside a desk."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from secrets import randbits

from server.signer.client import SignerClient
from server.signer.daemon import Signer, listening
from tests.tools.trading.conftest import Desk
from venue.keystore import Keystore


@asynccontextmanager
async def a_signer(desk: Desk) -> AsyncIterator[SignerClient]:
    """A signer with keys of its own, which the desk's service asks over a socket."""
    with tempfile.TemporaryDirectory(prefix="wsig") as name:
        folder = Path(name)
        seal = folder / "seal"
        seal.write_text("s" * 40)
        seal.chmod(0o600)
        keys = Keystore(folder / "keys", seal, lambda: randbits(256))
        signer = Signer(keys=keys, clock=desk.clock, venue=desk.networks.get)
        async with listening(signer, folder / "s", os.getuid()):
            line = SignerClient(folder / "s")
            object.__setattr__(desk.deps, "signer", line)
            yield line
