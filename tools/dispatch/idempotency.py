"""Idempotency keys: a first call acquires its key, a repeat gets its answer (spec 4.1)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from types import MappingProxyType
from typing import Final

from domain.refusals import Refused, refusal
from storage.unit_of_work import UnitOfWork
from tools.dispatch.exact_numbers import hashable
from tools.model.operation import Caller, HandlerResult, Operation, OperationResult, RenderedResult
from tools.model.serialization import to_json

REPLAYED: Final = MappingProxyType({"Idempotent-Replayed": "true"})
ASK_AGAIN: Final = timedelta(seconds=1)
_BODY: Final = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=hashable
)


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """An idempotency key in its scope, and the hash of what was asked with it."""

    scope: str
    key: str
    digest: str


def key_of(
    op: Operation, caller: Caller, request: object, arguments: Mapping[str, object], key: str | None
) -> IdempotencyKey | None:
    """The key of a call; None where the caller gave none, or the call takes none."""
    scope = None if op.idempotency is None or key is None else op.idempotency(caller, request)
    if scope is None or key is None:
        return None
    return IdempotencyKey(scope, key, request_hash(op, arguments))


def owner_scope(subject: str, *path: str) -> Callable[[Caller, object], str]:
    """The scope of keys on an owner's write that a repeat would do twice; `path` names the inputs
    of its path, which are in no body.
    """

    def scope(caller: Caller, request: object) -> str:
        return ":".join((caller.user_id or "", subject, *(getattr(request, name) for name in path)))

    return scope


def request_hash(op: Operation, arguments: Mapping[str, object]) -> str:
    """SHA-256 of the canonical JSON of the body: sorted keys, path parameters and key left out
    (spec 2.17).
    """
    left_out = _left_out(op)
    body = {k: v for k, v in arguments.items() if k not in left_out}
    return hashlib.sha256(_BODY.encode(body).encode()).hexdigest()


@cache
def _left_out(op: Operation) -> frozenset[str]:
    return frozenset({*op.path_names, "idempotency_key"})


def acquire_or_replay(
    uow: UnitOfWork,
    op: Operation,
    key: IdempotencyKey | None,
    now: datetime,
    until: datetime | None = None,
) -> OperationResult | None:
    """Claim the key, or give the answer that its first call got; None where this call is the first.

    Errors: `idempotency_key_reused` for another body; `idempotency_in_flight` while the first call
    runs; `outcome_unknown` where an effect was begun and nobody is left to tell how it ended.
    """
    if key is None:
        return None
    claim = uow.idempotency.acquire(key.scope, key.key, key.digest, now, until)
    if claim.new:
        return None
    if claim.request_hash != key.digest:
        raise Refused(refusal("idempotency_key_reused"))
    if claim.status is not None and claim.response is not None:
        return OperationResult(claim.status, claim.response, REPLAYED)
    if claim.until is not None and claim.until <= now:
        raise outcome_unknown(op)
    raise Refused(refusal("idempotency_in_flight", retry_at=now + ASK_AGAIN))


def to_result(op: Operation, answer: object) -> OperationResult:
    """The answer in its wire form, which is made from the type that the operation gives."""
    if isinstance(answer, RenderedResult):
        return OperationResult(op.status, answer.body)
    if isinstance(answer, OperationResult):  # a refusal that leaves what was written
        return answer
    if not isinstance(answer, HandlerResult):
        return OperationResult(op.status, to_json(answer, op.response_model))
    body, stored = answer.body, answer.stored_body
    return OperationResult(
        answer.status or op.status,
        to_json(body, op.response_model),
        answer.headers,
        None if stored is None else to_json(stored, op.response_model),
    )


def store_result(
    uow: UnitOfWork, key: IdempotencyKey | None, reply: OperationResult
) -> OperationResult:
    """Keep the answer for every repeat."""
    if key is not None:
        body = reply.body if reply.stored_body is None else reply.stored_body
        uow.idempotency.complete(key.scope, key.key, reply.status, dict(body))
    return reply


def outcome_unknown(op: Operation) -> Refused:
    """The refusal of an operation that may have had its effect: ask, and do not send again."""
    steps = () if op.effect is None else op.effect.reconcile
    return Refused(refusal("outcome_unknown", what=op.title, next=steps))
