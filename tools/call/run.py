"""The one path by which every call travels."""

from __future__ import annotations

import contextlib
import logging
import math
import re
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

import anyio
from pydantic import TypeAdapter, ValidationError

from domain.next_steps import NextStep, Role
from domain.refusals import Refused, invalid, refusal
from storage.brought.needs import Needs
from storage.faults import Unavailable
from storage.unit_of_work import UnitOfWork
from tools.call.allowance import admit, written
from tools.call.asking import ask_of
from tools.call.charges import WRONG_CREDENTIAL, charge, charge_refusal, charge_stranger
from tools.call.effects import Doing
from tools.call.fit import fitted, shorter
from tools.call.numbers import rounded
from tools.call.once import Key, claimed, complete, dressed, key_of, outcome_unknown
from tools.call.operation import (
    Auth,
    Caller,
    Deps,
    Operation,
    Reply,
    Surface,
    Takes,
)
from tools.call.presumed import NotAsPresumed, confirm, looked_up
from tools.call.refused_inputs import countable, legible, refuse_secrets
from tools.call.switches import switches
from tools.call.watch import being_about, mandate_of

log = logging.getLogger("wallet.operation")


CHALLENGE: Final = 'Bearer realm="wallet"'
KEY_FORM: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}")


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


async def run(
    op: Operation,
    deps: Deps,
    caller: Caller,
    arguments: Mapping[str, object],
    *,
    key: str | None = None,
    surface: Surface = "http",
    address: str | None = None,
    paid: int = 0,
) -> Reply:
    """Run one call: rate, role, validation, gathering, one transaction, reply. `address` is the
    network address that it came from, where there is one; `paid` is what it has cost already.

    Errors: none; every refusal becomes its block, trouble of the database is
    `storage_unavailable`, anything else is logged and answered `internal`.
    """
    started = time.perf_counter_ns()
    with being_about(operation=op.name, **mandate_of(arguments)):
        reply = await _answered(op, deps, caller, arguments, key, surface, address, paid)
    code = str(reply.body["error"]) if reply.refused else None
    deps.watch.called(op.name, surface, code, (time.perf_counter_ns() - started) // 1_000)
    return reply


async def _answered(
    op: Operation,
    deps: Deps,
    caller: Caller,
    arguments: Mapping[str, object],
    key: str | None,
    surface: Surface,
    address: str | None,
    paid: int,
) -> Reply:
    try:
        charge(
            deps, caller, address, op, deps.clock.now(), paid=paid, wallet=arguments.get("address")
        )
        if caller.presumed:
            reply = await _presuming(op, deps, caller, arguments, key, surface, address)
        else:
            reply = await _run(op, deps, caller, arguments, key, surface)
        return fitted(op, arguments, reply) if surface == "mcp" else reply
    except Refused as refused:
        now = deps.clock.now()
        if refused.code != "rate_limited":
            charge_refusal(deps, caller, address, op, now)
        return refused_reply(refused, now, caller.role)
    except Unavailable as trouble:
        log.warning("operation %s: the database: %s", op.name, trouble.why)
        return refused_reply(_unanswered(op, trouble, key), deps.clock.now(), caller.role)
    except Exception:
        log.exception("operation %s failed", op.name)
        return refused_reply(Refused(refusal("internal")), deps.clock.now(), caller.role)


async def _presuming(
    op: Operation,
    deps: Deps,
    caller: Caller,
    arguments: Mapping[str, object],
    key: str | None,
    surface: Surface,
    address: str | None,
) -> Reply:
    """Run for a presumed caller. Where that was not confirmed, or not come to, whose the key is now
    decides: nobody is refused in somebody else's name.
    """
    try:
        return await _run(op, deps, caller, arguments, key, surface)
    except (Refused, NotAsPresumed) as found:
        try:
            now = await looked_up(deps, caller)
        except Refused:
            charge_stranger(deps, address, cost=WRONG_CREDENTIAL)
            raise
        if isinstance(found, Refused) and now == caller:
            raise
    return await _run(op, deps, now, arguments, key, surface)


def _unanswered(op: Operation, trouble: Unavailable, key: str | None) -> Refused:
    """What to say of trouble with the database: a repeat is safe where nothing was stored, and
    where a key makes it so.
    """
    if trouble.unknown and op.writes and (key is None or op.idempotency is None):
        return outcome_unknown(op)
    return unavailable(trouble)


def unavailable(trouble: Unavailable) -> Refused:
    """The refusal of whatever the database did not answer."""
    return Refused(refusal("storage_unavailable", why=trouble.why))


def refusal_of(error: Exception) -> Refused | None:
    """What an error means to the caller whom it meets outside an operation; None for a fault of
    ours.
    """
    if isinstance(error, Unavailable):
        return unavailable(error)
    return error if isinstance(error, Refused) else None


def refused_reply(refused: Refused, now: datetime, role: Role = "nobody") -> Reply:
    """Dress a refusal: its status, its block with the steps that `role` can take, and the headers
    that HTTP has for it (contract 1).
    """
    found, headers = refused.refusal, {}
    status = found.kind.status
    if status in (429, 503):
        # What may not be repeated is not lifted by time: no time is told, and none made up.
        if found.retry_at is None and found.repeats:
            after = found.detail.get("retry_after_s")
            pause = timedelta(seconds=after if isinstance(after, int) else 1)
            found = replace(found, retry_at=now + pause)
        if found.retry_at is not None:
            left = found.retry_at - now
            headers["Retry-After"] = str(max(0, math.ceil(left.total_seconds())))
    if status == 401:
        headers["WWW-Authenticate"] = CHALLENGE
    return Reply(status, found.as_json(role), headers)


async def _run(
    op: Operation,
    deps: Deps,
    caller: Caller,
    arguments: Mapping[str, object],
    key: str | None,
    surface: Surface,
) -> Reply:
    if surface == "mcp" and op.behind_door and not await door_is_open(deps):
        raise Refused(refusal("door_off"))
    check_role(op, caller)
    if op.counts is not None:
        await op.counts(deps, caller)
    countable(arguments)
    verbatim = {n: arguments[n] for n in op.verbatim if n in arguments}
    arguments = legible({n: v for n, v in arguments.items() if n not in verbatim}) | verbatim
    refuse_secrets(arguments)
    asked = validated(op, arguments, strict=surface != "http" or not op.from_query)
    if not op.writes:
        reply = await _perform(op, deps, caller, asked, arguments, key, surface)
        while surface == "mcp" and (less := shorter(op, asked, arguments, reply)) is not None:
            asked = less
            reply = await _perform(op, deps, caller, asked, arguments, key, surface)
        return reply
    await admit(deps, op, caller)
    if op.effect is None and op.passes is None:
        # One transaction, which a store ends whatever becomes of its caller.
        return await _perform(op, deps, caller, asked, arguments, key, surface)
    # A client that goes away must not leave a write half answered.
    with anyio.CancelScope(shield=True):
        reply = await _perform(op, deps, caller, asked, arguments, key, surface)
    return reply


async def _perform(
    op: Operation,
    deps: Deps,
    caller: Caller,
    asked: Any,
    arguments: Mapping[str, object],
    key: str | None,
    surface: Surface,
) -> Reply:
    if key is not None and not KEY_FORM.fullmatch(key):
        raise invalid("idempotency_key", "1 to 128 characters from letters, digits and . _ : -")
    if op.passes is not None:
        return await op.passes(deps, caller, asked)
    once = key_of(op, caller, asked, arguments, key)
    if op.effect is not None:
        doing = Doing(op=op, effect=op.effect, deps=deps, caller=caller, asked=asked, key=once)
        return await doing.reply()
    facts, needs, whole = None, _needs(op, deps, caller, asked, once), deps
    if needs is not None and (op.gather is not None or not op.writes):
        deps = await _brought(deps, caller, needs)
    if op.gather is not None:
        with deps.chains.patient():
            facts = await op.gather(deps, caller, asked)
    handler = op.handler
    if handler is None:
        raise TypeError(f"{op.name} has neither a handler nor an effect")
    now = deps.clock.now()

    def work(uow: UnitOfWork) -> Reply:
        """A refusal rolls the claim back with the rest."""
        if op.writes and caller.presumed:
            confirm(uow, caller)
        replay = claimed(uow, op, once, now)
        if replay is not None:
            return replay
        ask = ask_of(uow, deps, caller, now, asked=asked, facts=facts, surface=surface)
        return complete(uow, once, dressed(op, handler(uow, ask)))

    return await (written(whole, caller, work, needs) if op.writes else deps.store.read(work))


def _needs(op: Operation, deps: Deps, caller: Caller, asked: Any, once: Key | None) -> Needs | None:
    if op.needs is None:
        return None
    key = None if once is None else (once.scope, once.key)
    credential = caller.credential if caller.presumed else None
    return op.needs(asked, deps.clock.now()).of_call(credential, key)


async def _brought(deps: Deps, caller: Caller, needs: Needs) -> Deps:
    """With what a call needs at hand, its claim aside: that is looked up where it is written.

    Errors: `NotAsPresumed`.
    """
    store = await deps.store.brought(needs.of_call(needs.credential, None))
    if caller.presumed:
        await store.read(lambda uow: confirm(uow, caller))
    return replace(deps, store=store)


async def door_is_open(deps: Deps) -> bool:
    """Read the bot-door switch."""
    return await deps.store.read(lambda uow: switches(uow, deps.defaults).door, single=True)


def check_role(op: Operation, caller: Caller) -> None:
    """Refuse a caller whose role the operation does not take: 401 for nobody, 403 for somebody
    else.
    """
    if caller.role in _ROLES[op.auth]:
        return
    if caller.role == "nobody":
        raise Refused(refusal("unauthenticated", needs=_NEEDS[op.auth]))
    raise Refused(refusal("forbidden", why=f"it needs {_NEEDS[op.auth]}", next=(_as_step(op),)))


def _as_step(op: Operation) -> NextStep:
    """The operation as a step of those whom it takes."""
    route = " ".join(op.route) if op.route else None
    return NextStep(op.title, op.name if op.on_mcp else None, route, _ROLES[op.auth])


def validated(op: Operation, arguments: Mapping[str, object], *, strict: bool) -> Takes:
    """Turn raw arguments into the operation's input.

    `strict`: JSON types are kept apart; what a door reads out of a path or a query is text all the
    same, and read as what its field takes.
    Errors: `invalid_request` with `detail.fields[]` {loc, msg}; `invalid_number` from an amount.
    """
    given = dict(arguments)
    if strict:
        for name, reads in _text_fields(op).items():
            if isinstance(given.get(name), str):
                # What it does not read stays text, which the strict reading names.
                with contextlib.suppress(ValidationError):
                    given[name] = reads.validate_python(given[name], strict=False)
    try:
        return rounded(op.takes.model_validate(given, strict=strict))
    except ValidationError as error:
        told = error.errors(include_url=False, include_input=False)
        (loc, msg), *others = [(".".join(map(str, e["loc"])), e["msg"]) for e in told]
        raise invalid(loc, msg, *others) from None


@cache
def _text_fields(op: Operation) -> Mapping[str, TypeAdapter[Any]]:
    """The inputs of a write that travel in its path or query and are no text."""
    names = {*op.path_names, *op.in_query} & set(op.takes.model_fields)
    types: list[tuple[str, Any]] = [(n, op.takes.model_fields[n].annotation) for n in names]
    return {n: TypeAdapter(kind) for n, kind in types if kind is not str}
