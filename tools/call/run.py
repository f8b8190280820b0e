"""The one path by which every call travels."""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import anyio
from pydantic import ValidationError

from domain.refusals import Refused, invalid, refusal
from storage.rows.work import Claim
from storage.unit_of_work import UnitOfWork
from tools.call.operation import (
    Ask,
    Auth,
    Caller,
    Deps,
    Handler,
    Operation,
    Reply,
    Role,
    Surface,
    Takes,
)
from tools.call.refused_inputs import refuse_secret_values, refuse_secrets, refuse_unwritable
from tools.call.switches import switches

log = logging.getLogger("wallet.operation")


KEY_FORM: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}")


ABANDONED: Final = timedelta(minutes=1)


_NEEDS: Final[Mapping[Auth, str]] = {
    "open": "nothing",
    "owner": "an owner session (Authorization: Bearer)",
    "agent": "an agent key (X-Service-User-Key)",
    "owner_or_agent": "an owner session or an agent key",
    "keeper": "a keeper key",
    "admin": "an admin key",
}


_ROLES: Final[Mapping[Auth, frozenset[Role]]] = {
    "open": frozenset({"nobody", "owner", "agent", "keeper", "admin"}),
    "owner": frozenset({"owner"}),
    "agent": frozenset({"agent"}),
    "owner_or_agent": frozenset({"owner", "agent"}),
    "keeper": frozenset({"keeper"}),
    "admin": frozenset({"admin"}),
}


def request_hash(op: Operation, arguments: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical JSON of the body: sorted keys, path parameters and key left out
    (spec 2.17).
    """
    body = {k: v for k, v in arguments.items() if k not in op.path_names and k != "idempotency_key"}
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


async def run(
    op: Operation,
    deps: Deps,
    caller: Caller,
    arguments: Mapping[str, Any],
    *,
    key: str | None = None,
    surface: Surface = "http",
) -> Reply:
    """Run one call: role, validation, gathering, one transaction, reply.

    Errors: none; every refusal becomes its block, anything else is logged and answered `internal`.
    """
    try:
        return await _run(op, deps, caller, arguments, key, surface)
    except Refused as refused:
        return refused_reply(refused)
    except Exception:
        log.exception("operation %s failed", op.name)
        return refused_reply(Refused(refusal("internal")))


def refused_reply(refused: Refused) -> Reply:
    """Dress a refusal: its status, its block, and Retry-After where time helps."""
    block = refused.refusal.as_json()
    headers = {}
    if refused.refusal.kind.status in (429, 503):
        headers["Retry-After"] = str(refused.refusal.detail.get("retry_after_s", 1))
    return Reply(refused.refusal.kind.status, block, headers)


async def _run(
    op: Operation,
    deps: Deps,
    caller: Caller,
    arguments: Mapping[str, Any],
    key: str | None,
    surface: Surface,
) -> Reply:
    if surface == "mcp" and op.behind_door and not await door_is_open(deps):
        raise Refused(refusal("door_off"))
    check_role(op, caller)
    if op.guards_secrets:
        refuse_secrets(arguments)
    if op.hash_fields is not None:
        refuse_secret_values(arguments, op.hash_fields)
    asked = validated(op, arguments, strict=surface != "http" or not op.from_query)
    if not op.writes:
        return await _perform(op, deps, caller, asked, arguments, key)
    # A client that goes away must not leave a write half answered.
    with anyio.CancelScope(shield=True):
        reply = await _perform(op, deps, caller, asked, arguments, key)
    return reply


async def _perform(
    op: Operation,
    deps: Deps,
    caller: Caller,
    asked: Any,
    arguments: Mapping[str, Any],
    key: str | None,
) -> Reply:
    if key is not None and not KEY_FORM.fullmatch(key):
        raise invalid("idempotency_key", "1 to 128 characters from letters, digits and . _ : -")
    if op.effect is not None:
        if op.idempotency is None or key is None:
            return await op.effect(deps, caller, asked)
        return await _effect_once(op, deps, caller, asked, arguments, key)
    facts = await op.gather(deps, caller, asked) if op.gather else None
    handler = op.handler
    if handler is None:
        raise TypeError(f"{op.name} has neither a handler nor an effect")
    now = deps.clock.now()

    def work(uow: UnitOfWork) -> Reply:
        ask: Ask[Any, Any] = Ask(
            caller,
            asked,
            facts,
            now,
            deps.ids,
            deps.chains,
            deps.config,
            switches(uow, deps.defaults),
            deps.sign_in,
        )
        if op.idempotency is None or key is None:
            return handler(uow, ask)
        return _once(uow, op, ask, arguments, key, handler)

    return await (deps.store.write(work) if op.writes else deps.store.read(work))


def _once(
    uow: UnitOfWork,
    op: Operation,
    ask: Ask[Any, Any],
    arguments: Mapping[str, Any],
    key: str,
    handler: Handler,
) -> Reply:
    """Claim, write, complete in one transaction; a refusal rolls the claim back with the rest
    (spec 4.1).
    """
    if op.idempotency is None:
        raise TypeError(f"{op.name} takes no idempotency key")
    scope, digest = op.idempotency(ask.caller, ask.asked), request_hash(op, arguments)
    claim = uow.idempotency.claim(scope, key, digest, ask.now)
    if not claim.new:
        return _stored(claim, digest, ask.now)
    reply = handler(uow, ask)
    uow.idempotency.complete(scope, key, reply.status, dict(reply.body))
    return reply


async def _effect_once(
    op: Operation,
    deps: Deps,
    caller: Caller,
    asked: Any,
    arguments: Mapping[str, Any],
    key: str,
) -> Reply:
    """Claim, act outside, complete: two transactions, because nothing may stay open while somebody
    else is asked.

    A claim whose process died is taken over after a minute; an effect is safe to begin again by its
    own record.
    """
    if op.effect is None or op.idempotency is None:
        raise TypeError(f"{op.name} has no effect, or takes no idempotency key")
    scope, digest, now = (
        op.idempotency(caller, asked),
        request_hash(op, arguments),
        deps.clock.now(),
    )
    claim = await deps.store.write(
        lambda uow: uow.idempotency.claim(scope, key, digest, now, abandoned_after=ABANDONED)
    )
    if not claim.new:
        return _stored(claim, digest, now)
    try:
        reply = await op.effect(deps, caller, asked)
    except BaseException:
        await deps.store.write(lambda uow: uow.idempotency.release(scope, key))
        raise
    await deps.store.write(
        lambda uow: uow.idempotency.complete(scope, key, reply.status, dict(reply.body))
    )
    return reply


def _stored(claim: Claim, digest: str, now: datetime) -> Reply:
    """The first answer to a key that was claimed before."""
    if claim.request_hash != digest:
        raise Refused(refusal("idempotency_key_reused"))
    if claim.status is None or claim.response is None:
        raise Refused(refusal("idempotency_in_flight", retry_at=now))
    return Reply(claim.status, claim.response)


async def door_is_open(deps: Deps) -> bool:
    """Read the bot-door switch."""
    return await deps.store.read(lambda uow: switches(uow, deps.defaults).door)


def check_role(op: Operation, caller: Caller) -> None:
    """Refuse a caller whose role the operation does not take: 401 for nobody, 403 for somebody
    else.
    """
    if caller.role in _ROLES[op.auth]:
        return
    if caller.role == "nobody":
        raise Refused(refusal("unauthenticated", needs=_NEEDS[op.auth]))
    raise Refused(refusal("forbidden", why=f"it needs {_NEEDS[op.auth]}"))


def validated(op: Operation, arguments: Mapping[str, Any], *, strict: bool) -> Takes:
    """Turn raw arguments into the operation's input.

    Errors: `invalid_request` with `detail.fields[]` {loc, msg}; `invalid_number` from an amount.
    """
    refuse_unwritable(arguments)
    try:
        return op.takes.model_validate(dict(arguments), strict=strict)
    except ValidationError as error:
        told = error.errors(include_url=False, include_input=False)
        (loc, msg), *others = [(".".join(map(str, e["loc"])), e["msg"]) for e in told]
        raise invalid(loc, msg, *others) from None
