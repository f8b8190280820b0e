"""The SDK's everything-server, as it serves itself and behind our HTTP front, so that the two can be compared."""

from __future__ import annotations

import sys
import tarfile
from pathlib import Path
from typing import Any

from aiohttp import web

from http_shim.asgi_bridge import AsgiBridge
from tests.fetched import kept, pip

ROOT = Path(__file__).parents[2]
INSIDE = "examples/servers/everything-server/mcp_everything_server/"


def fetched() -> Path:
    """The server's package out of the locked SDK's source archive; the wheel has no examples."""
    with kept("everything") as folder:
        if not (folder / "mcp_everything_server" / ".whole").exists():
            lines = (ROOT / "locks" / "dev.txt").read_text().split("\n")
            start = next(n for n, line in enumerate(lines) if line.startswith("mcp=="))
            end = next(n for n in range(start + 1, len(lines)) if not lines[n].startswith(" "))
            (folder / "mcp.txt").write_text(
                "\n".join(line for line in lines[start:end] if "#" not in line) + "\n"
            )
            source = ("-q", "--no-deps", "--no-binary", ":all:", "--require-hashes")
            pip("download", *source, "-r", "mcp.txt", "-d", ".", cwd=folder)
            with tarfile.open(next(folder.glob("mcp-*.tar.gz"))) as archive:
                for member in archive.getmembers():
                    if INSIDE in member.name and member.name.endswith(".py"):
                        member.name = "mcp_everything_server/" + Path(member.name).name
                        archive.extract(member, folder, filter="data")
            (folder / "mcp_everything_server" / ".whole").touch()
    return folder


def serve(how: str, port: int) -> None:
    """Serve until killed: `direct` by uvicorn as the SDK does, `bridge` by our front."""
    sys.path.insert(0, str(fetched()))
    from mcp_everything_server.server import event_store, mcp  # type: ignore[import-not-found]  # fetched at run time

    if how == "direct":
        mcp.run(transport="streamable-http", port=port, event_store=event_store, retry_interval=100)
        return
    app: Any = mcp.streamable_http_app(event_store=event_store, retry_interval=100)
    bridge, front = AsgiBridge(app), web.Application(client_max_size=4 * 2**20)
    front.cleanup_ctx.append(bridge.lifespan)
    for method in ("GET", "POST", "DELETE"):
        front.router.add_route(method, "/mcp", bridge.handle)
    web.run_app(front, host="127.0.0.1", port=port, print=None, access_log=None)


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
