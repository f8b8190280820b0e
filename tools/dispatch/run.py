"""Dispatch of an operation: authenticate, validate, charge, run the handler, answer."""

from __future__ import annotations

import contextlib
import logging
import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

import anyio
from pydantic import TypeAdapter, ValidationError

from domain.next_steps import NextStep, Role
from domain.refusals import Refused, invalid, refusal
from domain.spans import part
from storage.errors import Unavailable
from storage.prefetch.read_set import ReadSet
from storage.unit_of_work import UnitOfWork
from tools.dispatch.credential_cache import (
    StaleCredential,
    refresh_credential,
    verify_cached_credential,
)
from tools.dispatch.exact_numbers import rounded
from tools.dispatch.external_effects import EffectRunner
from tools.dispatch.idempotency import (
    IdempotencyKey,
    acquire_or_replay,
    key_of,
    outcome_unknown,
    store_result,
    to_result,
)
from tools.dispatch.rate_charging import (
    WRONG_CREDENTIAL,
    charge_call,
    charge_refusal,
    charge_stranger,
)
from tools.dispatch.request_context import request_context
from tools.dispatch.storage_allowance import admit, written
from tools.model.input_policy import check_size, normalize_text, refuse_secrets
from tools.model.operation import (
    Auth,
    Caller,
    Deps,
    Operation,
    OperationResult,
    RequestModel,
    Transport,
)
from tools.model.shutdown import ENDING, GRACE
from tools.model.switches import switches
from tools.model.telemetry import log_context, mandate_of
from tools.model.truncation import smaller_page, truncate_result

log = logging.getLogger("wallet.operation")

_NOTHING: Final[Mapping[str, str]] = {}
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


@dataclass(slots=True)
class _Call:
    """One call of an operation, on its way through."""

    op: Operation
    deps: Deps
    caller: Caller
    arguments: Mapping[str, object]
    key: str | None
    transport: Transport
    address: str | None


async def run(
    op: Operation,
    deps: Deps,
    caller: Caller,
    arguments: Mapping[str, object],
    *,
    key: str | None = None,
    transport: Transport = "http",
    address: str | None = None,
    prepaid_cost: int = 0,
) -> OperationResult:
    """Run one call: rate, role, validation, gathering, one transaction, reply. `address` is the
    network address that it came from, where there is one; `prepaid_cost` is what it has cost
    already.

    Errors: none; every refusal becomes its block, trouble of the database is
    `storage_unavailable`, anything else is logged and answered `internal`.
    """
    started = time.perf_counter_ns()
    if op.is_relay:
        caller = replace(caller, network_address=address)
    call = _Call(op, deps, caller, arguments, key, transport, address)
    about = mandate_of(arguments)
    with log_context(operation=op.name, **about), part(op.name, "internal", _NOTHING) as span:
        reply = await _answered(call, prepaid_cost)
        code = str(reply.body["error"]) if reply.refused else None
        if span is not None:
            mandate = {f"wallet.{name}": value for name, value in about.items()}
            span.add({"wallet.surface": transport, "wallet.outcome": code or "ok", **mandate})
    deps.watch.called(op.name, transport, code, (time.perf_counter_ns() - started) // 1_000)
    return reply


async def _answered(call: _Call, prepaid_cost: int) -> OperationResult:
    op, deps, caller, address = call.op, call.deps, call.caller, call.address
    try:
        wallet = call.arguments.get("address")
        now = deps.clock.now()
        await charge_call(deps, caller, address, op, now, prepaid_cost=prepaid_cost, wallet=wallet)
        reply = await (_run_cached_credential(call) if caller.from_cache else _run(call))
        return truncate_result(op, call.arguments, reply) if call.transport == "mcp" else reply
    except Refused as refused:
        now = deps.clock.now()
        if refused.code != "rate_limited":
            charge_refusal(deps, caller, address, op, now)
        return refused_reply(refused, now, caller.role)
    except Unavailable as error:
        log.warning("operation %s: the database: %s", op.name, error.why)
        return refused_reply(_unanswered(op, error, call.key), deps.clock.now(), caller.role)
    except Exception:
        log.exception("operation %s failed", op.name)
        return refused_reply(Refused(refusal("internal")), deps.clock.now(), caller.role)


async def _run_cached_credential(call: _Call) -> OperationResult:
    """Run for a cached caller. Where the cached credential was not confirmed, or not read, the
    stored credential decides: no caller is refused for another one's fault.
    """
    try:
        return await _run(call)
    except (Refused, StaleCredential) as error:
        try:
            now = await refresh_credential(call.deps, call.caller)
        except Refused:
            charge_stranger(call.deps, call.address, cost=WRONG_CREDENTIAL)
            raise
        if isinstance(error, Refused) and now == call.caller:
            raise
    return await _run(replace(call, caller=now))


def _unanswered(op: Operation, error: Unavailable, key: str | None) -> Refused:
    """The refusal for a fault of the database: a repeat is safe where nothing was stored, where a
    key makes it so, and where the operation does by itself.
    """
    is_keyed = key is not None and op.idempotency is not None
    if error.unknown and op.writes and not (is_keyed or op.idempotent):
        return outcome_unknown(op)
    return unavailable(error)


def unavailable(error: Unavailable) -> Refused:
    """The refusal of whatever the database did not answer."""
    return Refused(refusal("storage_unavailable", why=error.why))


def refusal_of(error: Exception) -> Refused | None:
    """The refusal for an error that was raised outside an operation; None for a fault of this
    service.
    """
    if isinstance(error, Unavailable):
        return unavailable(error)
    return error if isinstance(error, Refused) else None


def refused_reply(refused: Refused, now: datetime, role: Role = "nobody") -> OperationResult:
    """Dress a refusal: its status, its block with the steps that `role` can take, and the headers
    that HTTP has for it (contract 1).
    """
    error_block, headers = refused.refusal, {}
    status = error_block.kind.status
    if status in (429, 503):
        # What may not be repeated is not lifted by time: no time is told, and none made up.
        if error_block.retry_at is None and error_block.repeats:
            after = error_block.detail.get("retry_after_s")
            pause = timedelta(seconds=after if isinstance(after, int) else 1)
            error_block = replace(error_block, retry_at=now + pause)
        if error_block.retry_at is not None:
            left = error_block.retry_at - now
            headers["Retry-After"] = str(max(0, math.ceil(left.total_seconds())))
    if status == 401:
        headers["WWW-Authenticate"] = CHALLENGE
    return OperationResult(status, error_block.as_json(role), headers)


async def _run(call: _Call) -> OperationResult:
    op, deps, caller, is_mcp = call.op, call.deps, call.caller, call.transport == "mcp"
    if is_mcp and op.behind_door and not await door_is_open(deps):
        raise Refused(refusal("door_off"))
    check_role(op, caller)
    check_scope(op, caller)
    if op.count_call is not None:
        await op.count_call(deps, caller)
    arguments = call.arguments
    check_size(arguments)
    verbatim = {n: arguments[n] for n in op.verbatim if n in arguments}
    arguments = normalize_text({n: v for n, v in arguments.items() if n not in verbatim}) | verbatim
    refuse_secrets(arguments)
    request = validated(op, arguments, strict=call.transport != "http" or not op.from_query)
    if not op.writes:
        reply = await _perform(call, request, arguments)
        while is_mcp and (less := smaller_page(op, request, arguments, reply)) is not None:
            request = less
            reply = await _perform(call, request, arguments)
        return reply
    await admit(deps, op, caller)
    if op.effect is None and op.pass_through is None:
        # One transaction, which a store ends whatever becomes of its caller.
        return await _perform(call, request, arguments)
    # A client that goes away must not leave a write half answered.
    with anyio.CancelScope(shield=True):
        reply = await _perform(call, request, arguments)
    return reply


async def _perform(
    call: _Call, request: RequestModel, arguments: Mapping[str, object]
) -> OperationResult:
    op, deps, caller, key = call.op, call.deps, call.caller, call.key
    if key is not None and not KEY_FORM.fullmatch(key):
        raise invalid("idempotency_key", "1 to 128 characters from letters, digits and . _ : -")
    if op.pass_through is not None:
        with deps.shutdown.ends(GRACE):
            answer = await op.pass_through(deps, caller, request)
            return answer if isinstance(answer, OperationResult) else to_result(op, answer)
        raise Unavailable(ENDING, unknown=op.writes)
    idempotency_key = key_of(op, caller, request, arguments, key)
    if op.effect is not None:
        doing = EffectRunner(
            op=op, effect=op.effect, deps=deps, caller=caller, request=request, key=idempotency_key
        )
        return await doing.reply()
    now = deps.clock.now()
    if op.gather is not None or not op.writes:
        read_set = _read_set(op, caller, request, idempotency_key, now)
        deps = await _with_prefetch(deps, caller, read_set)
    facts, now = await _gather_facts(op, deps, caller, request, now)
    read_set = _read_set(op, caller, request, idempotency_key, now)
    handler = op.handler
    if handler is None:
        raise TypeError(f"{op.name} has neither a handler nor an effect")

    def work(uow: UnitOfWork) -> OperationResult:
        """A refusal rolls the claim back with the rest."""
        if op.writes and caller.from_cache:
            verify_cached_credential(uow, caller)
        replay = acquire_or_replay(uow, op, idempotency_key, now)
        if replay is not None:
            return replay
        ctx = request_context(
            uow, deps, caller, now, request=request, facts=facts, transport=call.transport
        )
        return store_result(uow, idempotency_key, to_result(op, handler(uow, ctx)))

    if not op.writes:
        is_late = op.may_lag and deps.replica is not None
        return await (deps.replica if is_late and deps.replica else deps.store).read(work)
    return await written(call.deps, caller, work, read_set)


async def _gather_facts(
    op: Operation, deps: Deps, caller: Caller, request: RequestModel, now: datetime
) -> tuple[object, datetime]:
    """The facts of the chain and the venue, and the time of the handler: a read is as of the moment
    of the rows that were read for it.
    """
    if op.gather is None:
        return None, now
    with deps.shutdown.ends(GRACE), deps.chains.request_deadline():
        facts = await op.gather(deps, caller, request)
        return facts, deps.clock.now() if op.writes else now
    raise Unavailable(ENDING)


def _read_set(
    op: Operation,
    caller: Caller,
    request: RequestModel,
    idempotency_key: IdempotencyKey | None,
    now: datetime,
) -> ReadSet | None:
    if op.read_set is None:
        return None
    key = None if idempotency_key is None else (idempotency_key.scope, idempotency_key.key)
    credential = caller.credential if caller.from_cache else None
    return op.read_set(request, now).of_call(credential, key)


async def _with_prefetch(deps: Deps, caller: Caller, read_set: ReadSet | None) -> Deps:
    """With what a call needs at hand, its claim aside: that is looked up where it is written.

    Errors: `StaleCredential`.
    """
    if read_set is None:
        return deps
    store = await deps.store.prefetch(read_set.of_call(read_set.credential, None))
    if caller.from_cache:
        await store.read(lambda uow: verify_cached_credential(uow, caller))
    return replace(deps, store=store)


async def door_is_open(deps: Deps) -> bool:
    """Read the bot-door switch."""
    return await deps.store.read(lambda uow: switches(uow, deps.defaults).door, single=True)


def check_role(op: Operation, caller: Caller) -> None:
    """Refuse a caller whose role the operation does not take: 401 without a credential, 403 with
    another role's.
    """
    if caller.role in _ROLES[op.auth]:
        return
    if caller.role == "nobody":
        raise Refused(refusal("unauthenticated", needs=_NEEDS[op.auth]))
    raise Refused(refusal("forbidden", why=f"it needs {_NEEDS[op.auth]}", next=(_as_step(op),)))


def check_scope(op: Operation, caller: Caller) -> None:
    """Refuse an app whose owner did not let it do this: 403."""
    needed = op.needed_scope
    if caller.access is not None and needed is not None and needed not in caller.access.scopes:
        raise Refused(refusal("insufficient_scope", scope=needed, detail={"scope": needed}))


def _as_step(op: Operation) -> NextStep:
    """The operation as a step of those whom it takes."""
    route = " ".join(op.route) if op.route else None
    return NextStep(op.title, op.name if op.on_mcp else None, route, _ROLES[op.auth])


def validated(op: Operation, arguments: Mapping[str, object], *, strict: bool) -> RequestModel:
    """Turn raw arguments into the operation's input.

    `strict`: JSON types are kept apart; what a door reads out of a path or a query is text all the
    same, and read as what its field takes.
    Errors: `invalid_request` with `detail.fields[]` {loc, msg}; `invalid_number` from an amount.
    """
    values = dict(arguments)
    if strict:
        for name, reads in _text_fields(op).items():
            if isinstance(values.get(name), str):
                # What it does not read stays text, which the strict reading names.
                with contextlib.suppress(ValidationError):
                    values[name] = reads.validate_python(values[name], strict=False)
    try:
        return rounded(op.request_model.model_validate(values, strict=strict))
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False)
        (loc, msg), *others = [(".".join(map(str, e["loc"])), e["msg"]) for e in errors]
        raise invalid(loc, msg, *others) from None


@cache
def _text_fields(op: Operation) -> Mapping[str, TypeAdapter[Any]]:
    """The inputs of a write that travel in its path or query and are no text."""
    names = {*op.path_names, *op.in_query} & set(op.request_model.model_fields)
    types: list[tuple[str, Any]] = [(n, op.request_model.model_fields[n].annotation) for n in names]
    return {n: TypeAdapter(kind) for n, kind in types if kind is not str}
