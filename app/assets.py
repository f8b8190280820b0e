"""The static files: read once, under one id for all, so that modules import one another by
relative path.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from aiohttp import web
from rjsmin import jsmin

from app import headers

NOT_KEPT: Final = {**headers.STATIC, "Cache-Control": "no-store"}
TYPES: Final[Mapping[str, str]] = {
    "css": "text/css",
    "js": "text/javascript",
    "png": "image/png",
    "svg": "image/svg+xml",
}


def minify(name: str, body: bytes) -> bytes:
    """A file as browsers get it: our own modules without comments and needless space, which says
    the same, as a test holds.
    """
    return jsmin(body.decode()).encode() if name.startswith("js/") else body


def _under(folder: Traversable, before: str = "") -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for entry in sorted(folder.iterdir(), key=lambda e: e.name):
        name = before + entry.name
        if entry.is_dir():
            files |= _under(entry, name + "/")
        elif name.rpartition(".")[2] in TYPES:
            files[name] = minify(name, entry.read_bytes())
    return files


FILES: Final[Mapping[str, bytes]] = _under(files("app") / "static")


# Nothing in them is anybody's secret, so that they may be compressed where pages may not.
PACKED: Final[Mapping[str, bytes]] = {
    name: gzip.compress(body, 9, mtime=0) for name, body in FILES.items()
}


def _build() -> str:
    digest = hashlib.sha256()
    for name, body in FILES.items():
        digest.update(f"{name} {len(body)}\n".encode() + body)
    return digest.hexdigest()[:12]


BUILD: Final = _build()


def url(name: str) -> str:
    """The address of a static file. Errors: KeyError for one that there is not."""
    FILES[name]
    return f"/app/static/{BUILD}/{name}"


def takes_gzip(accepted: str) -> bool:
    """True where the codings of an Accept-Encoding have gzip, and not at a weight of 0."""
    for coding in accepted.lower().split(","):
        name, _, weight = coding.replace(" ", "").partition(";q=")
        if name == "gzip":
            return weight.strip("0.") != "" or weight == ""
    return False


async def serve(request: web.Request) -> web.Response:
    """Answer a static file of this build; one of another build is not here."""
    name = request.match_info["name"]
    if request.match_info["build"] != BUILD or name not in FILES:
        return web.Response(status=404, text="Not here.", headers=NOT_KEPT)
    packed = takes_gzip(request.headers.get("Accept-Encoding", ""))
    content_type = TYPES[name.rpartition(".")[2]]
    return web.Response(
        body=PACKED[name] if packed else FILES[name],
        content_type=content_type,
        charset=None if content_type == "image/png" else "utf-8",
        headers={**headers.STATIC, **({"Content-Encoding": "gzip"} if packed else {})},
    )
