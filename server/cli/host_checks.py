"""Host checks of `wallet doctor`: names that are no settings, files that hold secrets, the public
address.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from aiohttp import ClientError, ClientSession, ClientTimeout

from server.cli.output import DoctorFinding
from server.settings import Settings, unknown_names
from storage.sqlite_files import sqlite_path

ANSWERED_S: Final = 5
LOCAL: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_GATEWAY: Final = frozenset({502, 503, 504})
_MISDIRECTED: Final = 421
_OK: Final = 200
_REDIRECTS: Final = range(300, 400)


def examine_names(settings: Settings) -> DoctorFinding:
    """Names in the environment and in the file that no setting has, and words that are for neither
    on nor off: one of them is a slip.
    """
    words = {"1", "true", "yes", "on", "0", "false", "no", "off"}
    slips = {
        "no such setting: ignored": unknown_names(settings),
        "neither on nor off: off": [
            f"WALLET_{name.upper()}"
            for name, field in type(settings).model_fields.items()
            if field.default in ("on", "off")
            and getattr(settings, name).strip().lower() not in words
        ],
    }
    state = ", ".join(name for names in slips.values() for name in names)
    if not state:
        return DoctorFinding("settings", True, f"{len(settings.model_fields_set)} set")
    effect = "; ".join(why for why, names in slips.items() if names)
    return DoctorFinding("settings", True, state, effect, True)


def readable(paths: list[Path]) -> str:
    """The command that helps where others can read a file, or empty."""
    open_ = []
    for path in paths:
        # The last connection that closes a database removes its two journals, at any moment; and
        # what belongs to another user is not seen.
        with suppress(FileNotFoundError, PermissionError):
            if path.stat().st_mode & 0o077:
                open_.append(path)
    return "others can read it: chmod 600 " + " ".join(map(str, open_)) if open_ else ""


def database_files(url: str) -> list[Path]:
    """The files of a SQLite database."""
    if not url.startswith("sqlite:///"):
        return []
    path = Path(sqlite_path(url))
    return [path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))]


def examine_files(settings: Settings) -> DoctorFinding:
    """Whether others can read a file that holds a secret."""
    named = (
        settings.keeper_private_key_file,
        settings.webhook_key_file,
        settings.vapid_private_key_file,
        settings.smtp_url_file,
        settings.state_keys_file,
        settings.signer_seal_file,
    )
    paths = [path for path in named if path is not None]
    own = Path("wallet.toml")
    if own.exists():
        paths.append(own)
    wrong = readable(paths)
    state = f"{len(paths)} of its own" if paths else "none is named"
    return DoctorFinding("secret files", True, state, wrong, bool(wrong))


async def examine_address(settings: Settings) -> DoctorFinding:
    """Ask the public address for this service's health, and whether MCP knows it by that name."""
    name, base = "base URL", settings.base_url
    if base is None:
        effect = "links lead to the address that is served: set WALLET_BASE_URL"
        return DoctorFinding(name, True, "not set", effect, True)
    timeout = ClientTimeout(total=ANSWERED_S)
    try:
        async with ClientSession(timeout=timeout) as http:
            async with http.get(base + "/healthz", allow_redirects=False) as answer:
                status, text = answer.status, (await answer.content.read(100)).decode("latin-1")
            async with http.post(base + "/mcp", json={}, allow_redirects=False) as answer:
                mcp = answer.status
    except (ClientError, OSError, TimeoutError) as error:
        state = f"{base}: no answer ({type(error).__name__})"
        return DoctorFinding(name, True, state, "nothing is served there now", True)
    if status in _GATEWAY:
        effect = "the proxy reaches no process of this service now"
        return DoctorFinding(name, True, f"{base}: {status}", effect, True)
    if status in _REDIRECTS:
        return DoctorFinding(name, False, f"{base}: {status}", "it leads to another address")
    if status != _OK or '"ok"' not in text:
        return DoctorFinding(name, False, f"{base}: {status}", "something else answers there")
    if mcp == _MISDIRECTED:
        effect = "MCP refuses its callers: the proxy has to hand on the Host of the request"
        return DoctorFinding(name, False, f"{base} answers", effect)
    url = urlsplit(base)
    if url.scheme == "http" and url.hostname not in LOCAL:
        return DoctorFinding(name, True, f"{base} answers", "over http keys travel in plain", True)
    return DoctorFinding(name, True, f"{base} answers")
