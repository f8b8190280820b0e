"""One validated call, put together for a handler."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from storage.unit_of_work import UnitOfWork
from tools.call.operation import Ask, Caller, Deps
from tools.call.switches import switches


def ask_of(
    uow: UnitOfWork,
    deps: Deps,
    caller: Caller,
    now: datetime,
    *,
    asked: Any = None,
    facts: Any = None,
) -> Ask[Any, Any]:
    """What a handler sees in this transaction: the switches are those of its snapshot."""
    return Ask(
        caller=caller,
        asked=asked,
        facts=facts,
        now=now,
        ids=deps.ids,
        chains=deps.chains,
        config=deps.config,
        switches=switches(uow, deps.defaults),
        sign_in=deps.sign_in,
        defaults=deps.defaults,
    )
