"""The shipped files of nginx and Caddy, run by Debian's own programs before two serving processes."""

from __future__ import annotations

import os
import re
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from tests.house.sources import ROOT
from tests.ports import free_port
from tests.server.test_two_servers import Pair, pair
from tests.waiting import STUCK_S
from tests.world import Evm

NGINX = ROOT / "deploy" / "nginx"
CADDY = ROOT / "deploy" / "caddy" / "Caddyfile"
HOME = "127.0.0.1"


def program(name: str) -> str | None:
    return shutil.which(name, path=os.defpath + ":/usr/sbin")


@dataclass
class Front:
    """A proxy with TLS, and the two processes behind it."""

    base: str
    plain: str
    two: Pair
    tls: ssl.SSLContext
    folder: Path


def certified(folder: Path) -> ssl.SSLContext:
    """A certificate of this machine and its key, and what trusts it."""
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=wallet -addext"
    words = [*command.split(), f"subjectAltName=IP:{HOME}", "-keyout", "wallet.key", "-out", "wallet.crt"]  # fmt: skip
    subprocess.run(words, cwd=folder, check=True, capture_output=True, timeout=STUCK_S)
    return ssl.create_default_context(cafile=str(folder / "wallet.crt"))


def replaced(text: str, *changes: tuple[str, str]) -> str:
    """A file as it is on this machine; each change is of something that stands in it."""
    for old, new in changes:
        assert re.search(old, text), old
        text = re.sub(old, new, text)
    return text


def _upstreams(bases: list[str]) -> list[tuple[str, str]]:
    return [(f"127.0.0.1:{8402 + n}", base.rpartition("/")[2]) for n, base in enumerate(bases)]


def nginx(folder: Path, port: int, plain: int, bases: list[str]) -> list[str]:
    """The command of an nginx with both shipped files."""
    site = replaced(
        (NGINX / "wallet.conf").read_text(), ("listen 80;", f"listen {HOME}:{plain};"), ("listen 443 ", f"listen {HOME}:{port} "),
        ("/etc/nginx/tls", str(folder)),
    )  # fmt: skip
    (folder / "wallet.conf").write_text(site)
    processes = replaced((NGINX / "processes.conf").read_text(), *_upstreams(bases))
    (folder / "processes.conf").write_text(processes)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    user = "user root;" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(
        f"daemon off; {user} pid {folder}/pid; error_log {folder}/error.log; events {{}} http {{ {places} "
        f"log_format where '$upstream_addr $request_method $status'; access_log {folder}/access.log where; "
        f"include {folder}/processes.conf; include {folder}/wallet.conf; }}"
    )
    return [str(program("nginx")), "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")]  # fmt: skip


def caddy(folder: Path, port: int, plain: int, bases: list[str]) -> list[str]:
    """The command of a Caddy with the shipped file."""
    file = replaced(
        CADDY.read_text(), ("admin off", f"admin off\n\tskip_install_trust\n\thttp_port {plain}\n\tauto_https disable_redirects"),
        (r"(?m)^wallet.example \{", f"https://{HOME}:{port} {{\n\ttls {folder}/wallet.crt {folder}/wallet.key"), *_upstreams(bases),
    )  # fmt: skip
    (folder / "Caddyfile").write_text(file)
    return [str(program("caddy")), "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]  # fmt: skip


PROXIES: dict[str, Callable[[Path, int, int, list[str]], list[str]]] = {"nginx": nginx, "caddy": caddy}  # fmt: skip


@contextmanager
def _started(command: list[str], folder: Path) -> Iterator[Callable[[], str]]:
    """The program; what it says."""
    env = {"PATH": os.defpath, "HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    said = folder / "said"
    with said.open("wb") as file:
        process = subprocess.Popen(command, cwd=folder, env=env, stdout=file, stderr=file)

        def report() -> str:
            assert process.poll() is None, said.read_text()
            return said.read_text()

        try:
            yield report
        finally:
            process.terminate()
            process.wait(STUCK_S)


@asynccontextmanager
async def behind(name: str, url: str, evm: Evm, folder: Path, **more: str) -> AsyncIterator[Front]:
    """Both processes behind a proxy, once it answers."""
    tls, port, plain = certified(folder), free_port(), free_port()
    base = f"https://{HOME}:{port}"
    settings: dict[str, str] = {"WALLET_BASE_URL": base, "WALLET_TRUSTED_PROXIES": HOME} | more
    async with pair(url, evm, **settings) as two:
        command = PROXIES[name](folder, port, plain, two.bases)
        with _started(command, folder) as report:
            get = partial(two.http.get, base + "/readyz", ssl=tls)
            with anyio.fail_after(STUCK_S):
                while not await _answers(get):
                    report()
                    await anyio.sleep(0.05)
            yield Front(base, f"http://{HOME}:{plain}", two, tls, folder)


async def _answers(get: Callable[[], Any]) -> bool:
    try:
        async with get() as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
