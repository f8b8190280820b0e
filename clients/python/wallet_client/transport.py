"""Transport of the calls: one connection pool, a credential, JSON there and a model back."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

import aiohttp
from pydantic import BaseModel

from wallet_client import models

M = TypeVar("M", bound=BaseModel)


class Refused(Exception):
    """The service refused; `refusal` says who can fix it and what to do next."""

    def __init__(self, status: int, refusal: models.Refusal):
        super().__init__(f"{refusal.error}: {refusal.reason}")
        self.status, self.refusal = status, refusal


class Transport:
    """An open client; an agent has a key, an owner the token of a session."""

    def __init__(
        self, base_url: str, *, agent_key: str | None = None, session_token: str | None = None
    ):
        self._base = base_url.rstrip("/")
        self._headers = {"Accept": "application/json"}
        if agent_key is not None:
            self._headers["X-Service-User-Key"] = agent_key
        if session_token is not None:
            self._headers["Authorization"] = f"Bearer {session_token}"
        self._http: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._http = aiohttp.ClientSession(headers=self._headers)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._http is not None:
            await self._http.close()

    async def ask(
        self,
        verb: str,
        path: str,
        answer: type[M],
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
    ) -> M:
        """Send one call; what is None is not sent.

        Errors: `Refused`; `aiohttp.ClientError` where nothing was answered.
        """
        if self._http is None:
            raise RuntimeError("use the client in an async with block")
        params = {n: _text(v) for n, v in (query or {}).items() if v is not None}
        sent = None if body is None else {n: v for n, v in body.items() if v is not None}
        headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
        async with self._http.request(
            verb, self._base + path, params=params, json=sent, headers=headers
        ) as reply:
            raw = await reply.read()
            if reply.status >= 400:
                raise Refused(reply.status, models.Refusal.model_validate_json(raw))
            return answer.model_validate_json(raw)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
