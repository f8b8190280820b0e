"""A listen stream of the newer era: what changed since its last frame, each change once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import anyio
import mcp.types as t
from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp.server.subscriptions import SUBSCRIPTION_ID_META_KEY, ServerEvent
from mcp.shared.subscriptions import event_matches, event_to_notification

if TYPE_CHECKING:
    from starlette.requests import Request

TASK_IDS: Final = "taskIds"
Context: TypeAlias = "ServerRequestContext[object, Request]"
TaskState = Callable[[Context, str], Awaitable[Mapping[str, object] | None]]


@dataclass(frozen=True, slots=True)
class TaskChanged:
    """A task may have another status."""

    task_id: str


class TaskNotification(t.Notification[dict[str, object], Literal["notifications/tasks"]]):
    """A task as it stands, as `tasks/get` answers it."""

    method: Literal["notifications/tasks"] = "notifications/tasks"


class ListenStream:
    """One stream. What is put while a frame is on its way is written behind it, each change once,
    so that a client that reads slowly holds up nobody and fills no memory.
    """

    def __init__(self, ctx: Context, honored: t.SubscriptionFilter, state: TaskState):
        if ctx.request_id is None:
            raise MCPError(t.INVALID_REQUEST, "subscriptions/listen requires a request id")
        self._ctx, self._honored, self._state = ctx, honored, state
        self._uris = frozenset(honored.resource_subscriptions or ())
        self._meta: dict[str, object] = {SUBSCRIPTION_ID_META_KEY: ctx.request_id}
        self._changes: dict[ServerEvent | TaskChanged, None] = {}
        self._last_states: dict[str, Mapping[str, object]] = {}
        self._is_closed, self._woken = False, anyio.Event()

    def put(self, change: ServerEvent | TaskChanged) -> None:
        """Tell this stream, where it asked for such changes."""
        if isinstance(change, TaskChanged) or event_matches(self._honored, self._uris, change):
            self._changes[change] = None
            self._woken.set()

    def close(self) -> None:
        """End the stream, with its last frame."""
        self._is_closed = True
        self._woken.set()

    async def serve(self) -> t.SubscriptionsListenResult:
        """Write what is put, until the stream is closed or its client has gone."""
        params = t.SubscriptionsAcknowledgedNotificationParams(
            notifications=self._honored, _meta=self._meta
        )
        await self._write(t.SubscriptionsAcknowledgedNotification(params=params))
        while True:
            while self._changes:
                change = next(iter(self._changes))
                del self._changes[change]
                if isinstance(change, TaskChanged):
                    await self._write_task(change.task_id)
                else:
                    await self._write(event_to_notification(change, self._meta))
            if self._is_closed:
                return t.SubscriptionsListenResult(_meta=self._meta)
            await self._woken.wait()
            self._woken = anyio.Event()

    async def _write_task(self, task_id: str) -> None:
        state = await self._state(self._ctx, task_id)
        if state is None or state == self._last_states.get(task_id):
            return
        self._last_states[task_id] = state
        await self._write(TaskNotification(params={**state, "_meta": self._meta}))

    async def _write(self, notification: Any) -> None:
        await self._ctx.session.send_notification(
            notification, related_request_id=self._ctx.request_id
        )
