"""Request context: builds one validated call for a handler."""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypeVar

from pydantic import BaseModel

from storage.unit_of_work import UnitOfWork
from tools.model.operation import Caller, Deps, RequestContext, Transport
from tools.model.switches import switches

R = TypeVar("R", bound=BaseModel)


def request_context(
    uow: UnitOfWork,
    deps: Deps,
    caller: Caller,
    now: datetime,
    *,
    request: R,
    facts: Any = None,
    transport: Transport = "http",
) -> RequestContext[R, Any]:
    """The context of a handler in this transaction: the switches are those of its snapshot."""
    return RequestContext(
        caller=caller,
        request=request,
        facts=facts,
        now=now,
        ids=deps.ids,
        chains=deps.chains,
        config=deps.config,
        switches=switches(uow, deps.defaults),
        sign_in=deps.sign_in,
        defaults=deps.defaults,
        transport=transport,
    )
