"""Outbound client: calls only the checked address of a URL that a stranger named."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from tools.model.client_documents import DOCUMENT_MAX, ClientDocument
from tools.model.url_policy import is_public_address

TOTAL_S: Final = 10
CONNECT_S: Final = 5
DOCUMENT_S: Final = 3
AT_ONCE: Final = 64

WAIT: Final = re.compile(r"[0-9]{1,9}", re.ASCII)

Lookup = Callable[[str, int], Sequence[str]]
"""The addresses of a host, as text; runs in a thread. Errors: OSError."""


class AddressBlocked(OSError):
    """A host has an address that is not on the public internet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PostResult:
    """The result of a call: the answer's status, or a word for the reason why there is none.
    `wait_s` is how long the receiver asks to be left alone (RFC 9110, Retry-After, in seconds).
    """

    status: int | None = None
    fault: str | None = None
    wait_s: int | None = None

    @property
    def taken(self) -> bool:
        """True for an answer that says that the message arrived."""
        return self.status is not None and 200 <= self.status < 300


def resolve_host(host: str, port: int) -> Sequence[str]:
    """Ask the machine's resolver."""
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(where[0]) for *_, where in entries))


class PinnedResolver(AbstractResolver):
    """Looks a host up once, and gives the connector the very addresses that were checked: a name
    that answers something else a moment later is not asked again.

    A name may belong to a server that never answers, and a lookup outlives the call that gave it
    up: lookups have threads of their own, so that none of the loop's wait for a stranger.
    """

    def __init__(self, *, private: bool, lookup: Lookup = resolve_host):
        self._private, self._lookup = private, lookup
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="webhook-names")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The host's addresses. Errors: `AddressBlocked` where one of them may not be called."""
        asking = asyncio.get_running_loop().run_in_executor
        addresses = await asking(self._threads, self._lookup, host, port)
        if not self._private and not all(is_public_address(address) for address in addresses):
            raise AddressBlocked(f"{host} is not on the public internet alone")
        return [_result(host, address, port) for address in addresses]

    async def close(self) -> None:
        """Let the threads go as their lookups end."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _result(host: str, address: str, port: int) -> ResolveResult:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return ResolveResult(
        hostname=host,
        host=address,
        port=port,
        family=family,
        proto=socket.IPPROTO_TCP,
        flags=socket.AI_NUMERICHOST,
    )


class OutboundClient:
    """Posts to strangers, and reads short documents of theirs. Each call has a connection of its
    own and ten seconds in all, a document three; redirects are not followed, cookies not kept,
    proxies of the environment not used.
    """

    def __init__(self, *, private: bool, lookup: Lookup = resolve_host, total_s: float = TOTAL_S):
        self._private = private
        self._names = PinnedResolver(private=private, lookup=lookup)
        connector = aiohttp.TCPConnector(
            resolver=self._names,
            use_dns_cache=False,
            force_close=True,
            limit=AT_ONCE,
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=total_s, sock_connect=CONNECT_S),
            trust_env=False,
            auto_decompress=False,
            max_line_size=8_190,
            max_field_size=8_190,
        )

    async def post(self, url: str, headers: Mapping[str, str], body: str | bytes) -> PostResult:
        """Send one message. Errors: none; what goes wrong is the outcome."""
        if not self._may_call(url):
            return PostResult(fault="address_not_allowed")
        sent = {"Content-Type": "application/json", "User-Agent": "mandate-wallet", **headers}
        raw = body.encode() if isinstance(body, str) else body
        try:
            async with self._session.post(
                url, data=raw, headers=sent, allow_redirects=False
            ) as answer:
                # The status is all that counts: what a stranger answers is neither read nor kept.
                answer.close()
                wait = answer.headers.get("Retry-After", "")
                wait_s = int(wait) if WAIT.fullmatch(wait) else None
                return PostResult(status=answer.status, wait_s=wait_s)
        except TimeoutError:
            return PostResult(fault="timeout")
        except aiohttp.ClientConnectorDNSError as error:
            refused = isinstance(error.os_error, AddressBlocked)
            return PostResult(fault="address_not_allowed" if refused else "no_such_host")
        except aiohttp.ClientSSLError:
            return PostResult(fault="bad_certificate")
        except aiohttp.ClientConnectorError:
            return PostResult(fault="no_connection")
        except (aiohttp.ClientError, ValueError, OSError):
            return PostResult(fault="no_http")

    def _may_call(self, url: str) -> bool:
        """False for a URL that names an address outright which may not be called."""
        host = urlsplit(url).hostname or ""
        return self._private or not _numeric(host) or is_public_address(host)

    async def document(self, url: str) -> ClientDocument | None:
        """A short JSON document; None where there is none, or it is not within the bounds."""
        if not self._may_call(url):
            return None
        sent = {
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": "mandate-wallet",
        }
        try:
            async with (
                asyncio.timeout(DOCUMENT_S),
                self._session.get(url, headers=sent, allow_redirects=False) as answer,
            ):
                kind = answer.content_type
                is_json = kind == "application/json" or kind.endswith("+json")
                if answer.status != 200 or not is_json:
                    return None
                body = await answer.content.read(DOCUMENT_MAX + 1)
                while len(body) <= DOCUMENT_MAX and (more := await answer.content.read(1024)):
                    body += more
                cached = answer.headers.get("Cache-Control", "")
                return ClientDocument(body, cached) if len(body) <= DOCUMENT_MAX else None
        except (TimeoutError, aiohttp.ClientError, ValueError, OSError):
            return None

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()
        await self._names.close()

    async def __aenter__(self) -> OutboundClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _numeric(host: str) -> bool:
    try:
        socket.inet_pton(socket.AF_INET6 if ":" in host else socket.AF_INET, host)
    except OSError:
        return False
    return True
