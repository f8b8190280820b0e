"""Idempotency keys: the first call claims its key, a repeat gets the first answer (spec 4.1)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

from domain.refusals import Refused, refusal
from storage.rows.work import Claim
from storage.unit_of_work import UnitOfWork
from tools.call.numbers import hashable
from tools.call.operation import Answer, Caller, Operation, Reply, Written
from tools.call.wire import shaped, told

ASK_AGAIN: Final = timedelta(seconds=1)
_BODY: Final = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=hashable
)


@dataclass(frozen=True, slots=True)
class Key:
    """An idempotency key in its scope, and the hash of what was asked with it."""

    scope: str
    key: str
    digest: str


def key_of(
    op: Operation, caller: Caller, asked: Any, arguments: Mapping[str, object], key: str | None
) -> Key | None:
    """The key of a call; None where the caller gave none, or the call takes none."""
    scope = None if op.idempotency is None or key is None else op.idempotency(caller, asked)
    if scope is None or key is None:
        return None
    return Key(scope, key, request_hash(op, arguments))


def by_owner(what: str, *path: str) -> Callable[[Caller, Any], str]:
    """The scope of keys on an owner's write that a repeat would do twice; `path` names the inputs
    of its path, which are in no body.
    """

    def scope(caller: Caller, asked: Any) -> str:
        return ":".join((caller.user_id or "", what, *(getattr(asked, name) for name in path)))

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


def claimed(
    uow: UnitOfWork, op: Operation, key: Key | None, now: datetime, until: datetime | None = None
) -> Reply | None:
    """Claim the key, or give the answer that its first call got; None where this call is the first.

    Errors: `idempotency_key_reused` for another body; `idempotency_in_flight` while the first call
    runs; `outcome_unknown` where an effect was begun and nobody is left to tell how it ended.
    """
    if key is None:
        return None
    claim = uow.idempotency.claim(key.scope, key.key, key.digest, now, until)
    if claim.new:
        return None
    if claim.request_hash != key.digest:
        raise Refused(refusal("idempotency_key_reused"))
    if claim.status is not None and claim.response is not None:
        return Reply(claim.status, claim.response)
    raise outcome_unknown(op) if _lost(claim, now) else _in_flight(now)


def dressed(op: Operation, answer: Answer | Written | Reply) -> Reply:
    """The answer in its wire form, which is made from the type that the operation gives."""
    if isinstance(answer, Written):
        return Reply(answer.status, answer.body)
    if isinstance(answer, Answer):
        again = None if answer.kept is None else told(answer.kept, op.gives)
        return Reply(answer.status, told(answer.body, op.gives), kept=again)
    if answer.refused:
        return answer
    kept = None if answer.kept is None else shaped(answer.kept, op.gives)
    return replace(answer, body=shaped(answer.body, op.gives), kept=kept)


def complete(uow: UnitOfWork, key: Key | None, reply: Reply) -> Reply:
    """Keep the answer for every repeat."""
    if key is not None:
        body = reply.body if reply.kept is None else reply.kept
        uow.idempotency.complete(key.scope, key.key, reply.status, dict(body))
    return reply


def _lost(claim: Claim, now: datetime) -> bool:
    return claim.until is not None and claim.until <= now


def _in_flight(now: datetime) -> Refused:
    return Refused(refusal("idempotency_in_flight", retry_at=now + ASK_AGAIN))


def outcome_unknown(op: Operation) -> Refused:
    """The refusal of an operation that may have had its effect: ask, and do not send again."""
    steps = () if op.effect is None else op.effect.reconcile
    return Refused(refusal("outcome_unknown", what=op.title, next=steps))
