"""What an operation is, and the one path by which every call travels."""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Generic, Literal, TypeVar

import anyio
from pydantic import BaseModel, ConfigDict, ValidationError

from domain.ports import Chains, Clock, HouseKeeper, Ids, SignIn
from domain.refusals import NextStep, Refused, refusal
from domain.settings import SWITCHES, Config, Switches
from storage.store import Store
from storage.unit_of_work import UnitOfWork

log = logging.getLogger("wallet.operation")

Auth = Literal["open", "owner", "agent", "owner_or_agent", "keeper", "admin"]
Role = Literal["nobody", "owner", "agent", "keeper", "admin"]
Surface = Literal["http", "mcp", "house"]
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


class Takes(BaseModel):
    """Base of every operation's input: flat, closed, strict (contract 1)."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Gives(BaseModel):
    """Base of every operation's answer: the shape that OpenAPI and MCP publish."""

    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: a role, and the user id behind the credential (None for nobody, keeper and admin).

    `owner_id` is set for an agent: the person who registered it. `address` is a person's wallet.
    """

    role: Role
    user_id: str | None = None
    owner_id: str | None = None
    address: str | None = None
    name: str | None = None
    credential: str | None = None


NOBODY: Final = Caller("nobody")


@dataclass(frozen=True, slots=True)
class Deps:
    """What operations work with; composed in `server.wiring`."""

    store: Store
    chains: Chains
    clock: Clock
    ids: Ids
    config: Config
    sign_in: SignIn
    defaults: Switches = field(default_factory=Switches)
    keeper: HouseKeeper | None = None


T = TypeVar("T", bound=BaseModel)
F = TypeVar("F")


@dataclass(frozen=True, slots=True)
class Ask(Generic[T, F]):
    """One validated call, as a handler sees it; `facts` is what `gather` brought."""

    caller: Caller
    asked: T
    facts: F
    now: datetime
    ids: Ids
    chains: Chains
    config: Config
    switches: Switches
    sign_in: SignIn


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: HTTP status, JSON body, and headers that only HTTP shows."""

    status: int
    body: Mapping[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def refused(self) -> bool:
        """True for a refusal block."""
        return self.status >= 400 and "error" in self.body


Handler = Callable[[UnitOfWork, Ask[Any, Any]], Reply]
Gather = Callable[[Deps, Caller, Any], Awaitable[Any]]
Effect = Callable[[Deps, Caller, Any], Awaitable[Reply]]


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """One thing the service does: an MCP tool, a route, an OpenAPI path and a line of skill.md are made from it.

    `handler` runs inside one transaction (a read-only one unless `writes`). `gather` runs before it, with none open.
    An operation with an outside effect has `effect` in place of `handler` and opens its own transactions.
    `idempotency` makes the scope of spec 2.17 from caller and input. `statuses` are the successes, with their meaning.
    `in_query` names inputs that travel in the query of a write route; a GET has all of them there.
    """

    name: str
    title: str
    summary: str
    auth: Auth
    route: tuple[str, str] | None
    takes: type[Takes]
    gives: type[Gives]
    handler: Handler | None = None
    gather: Gather | None = None
    effect: Effect | None = None
    writes: bool = False
    destructive: bool = False
    idempotent: bool = False
    open_world: bool = False
    on_mcp: bool = False
    guards_secrets: bool = False
    family: str = "mandates"
    statuses: Mapping[int, str] = field(default_factory=lambda: {200: "Done"})
    refusals: tuple[str, ...] = ()
    idempotency: Callable[[Caller, Any], str] | None = None
    in_query: frozenset[str] = frozenset()

    @property
    def behind_door(self) -> bool:
        """True for the MCP tools that the bot-door switch hides (spec 4.5)."""
        return self.name.startswith("mandate_")

    @property
    def path_names(self) -> tuple[str, ...]:
        """Inputs that travel in the path."""
        return tuple(re.findall(r"{(\w+)}", self.route[1])) if self.route else ()

    @property
    def from_query(self) -> bool:
        """True where a door hands every input over as text."""
        return self.route is not None and self.route[0] == "GET"


def switches(uow: UnitOfWork, defaults: Switches) -> Switches:
    """Read spec 4.5's switches: rows in the database over the settings."""
    rows = uow.switches.all()
    named = {n: getattr(defaults, n) for n in SWITCHES}
    return Switches(**{n: is_on(rows[n]) if n in rows else default for n, default in named.items()})


def is_on(text: str) -> bool:
    """True for 1, true, yes and on, in any case (spec 4.5)."""
    return text.strip().lower() in ("1", "true", "yes", "on")


def request_hash(op: Operation, arguments: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical JSON of the body: sorted keys, path parameters and key left out (spec 2.17)."""
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
    op: Operation, deps: Deps, caller: Caller, arguments: Mapping[str, Any], key: str | None, surface: Surface
) -> Reply:
    if surface == "mcp" and op.behind_door and not await door_is_open(deps):
        raise Refused(refusal("door_off"))
    check_role(op, caller)
    if op.guards_secrets:
        refuse_secrets(arguments)
    asked = validated(op, arguments, strict=surface != "http" or not op.from_query)
    if not op.writes:
        return await _perform(op, deps, caller, asked, arguments, key)
    # A client that goes away must not leave a write half answered.
    with anyio.CancelScope(shield=True):
        reply = await _perform(op, deps, caller, asked, arguments, key)
    return reply


async def _perform(op: Operation, deps: Deps, caller: Caller, asked: Any, arguments: Mapping[str, Any], key: str | None) -> Reply:
    if key is not None and not KEY_FORM.fullmatch(key):
        raise Refused(invalid("idempotency_key", "1 to 128 characters from letters, digits and . _ : -"))
    if op.effect is not None:
        return await op.effect(deps, caller, asked)
    facts = await op.gather(deps, caller, asked) if op.gather else None
    handler = op.handler
    if handler is None:
        raise TypeError(f"{op.name} has neither a handler nor an effect")
    now = deps.clock.now()

    def work(uow: UnitOfWork) -> Reply:
        ask: Ask[Any, Any] = Ask(
            caller, asked, facts, now, deps.ids, deps.chains, deps.config, switches(uow, deps.defaults), deps.sign_in
        )
        if op.idempotency is None or key is None:
            return handler(uow, ask)
        return _once(uow, op, ask, arguments, key, handler)

    return await (deps.store.write(work) if op.writes else deps.store.read(work))


def _once(uow: UnitOfWork, op: Operation, ask: Ask[Any, Any], arguments: Mapping[str, Any], key: str, handler: Handler) -> Reply:
    """Claim, write, complete in one transaction; a refusal rolls the claim back with the rest (spec 4.1)."""
    if op.idempotency is None:
        raise TypeError(f"{op.name} takes no idempotency key")
    scope, digest = op.idempotency(ask.caller, ask.asked), request_hash(op, arguments)
    claim = uow.idempotency.claim(scope, key, digest, ask.now)
    if not claim.new:
        if claim.request_hash != digest:
            raise Refused(refusal("idempotency_key_reused"))
        if claim.status is None or claim.response is None:
            raise Refused(refusal("idempotency_in_flight", retry_at=ask.now))
        return Reply(claim.status, claim.response)
    reply = handler(uow, ask)
    uow.idempotency.complete(scope, key, reply.status, dict(reply.body))
    return reply


async def door_is_open(deps: Deps) -> bool:
    """Read the bot-door switch."""
    return await deps.store.read(lambda uow: switches(uow, deps.defaults).door)


def check_role(op: Operation, caller: Caller) -> None:
    """Refuse a caller whose role the operation does not take: 401 for nobody, 403 for somebody else."""
    if caller.role in _ROLES[op.auth]:
        return
    if caller.role == "nobody":
        raise Refused(refusal("unauthenticated", needs=_NEEDS[op.auth]))
    raise Refused(refusal("forbidden", why=f"it needs {_NEEDS[op.auth]}"))


def invalid(loc: str, msg: str) -> Any:
    """Make the refusal `invalid_request` for one field."""
    return refusal("invalid_request", detail={"fields": [{"loc": loc, "msg": msg}]})


def validated(op: Operation, arguments: Mapping[str, Any], *, strict: bool) -> Takes:
    """Turn raw arguments into the operation's input.

    Errors: `invalid_request` with `detail.fields[]` {loc, msg}; `invalid_number` from an amount.
    """
    refuse_unwritable(arguments)
    try:
        return op.takes.model_validate(dict(arguments), strict=strict)
    except ValidationError as error:
        fields = [
            {"loc": ".".join(map(str, e["loc"])), "msg": e["msg"]} for e in error.errors(include_url=False, include_input=False)
        ]
        raise Refused(refusal("invalid_request", detail={"fields": fields})) from None


def refuse_unwritable(value: Any, path: str = "") -> None:
    """Refuse text that no database and no answer can hold: NUL, and half of a surrogate pair.

    JSON can carry both; stored, either would make every later read of the mandate fail.
    Errors: `invalid_request`.
    """
    if isinstance(value, str):
        if not _writable(value):
            shown = path.encode("ascii", "replace").decode().replace("\x00", "?")
            raise Refused(invalid(shown[:80] or "text", "text without NUL and without half surrogate pairs"))
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            refuse_unwritable(name, path)
            refuse_unwritable(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list):
        for n, inner in enumerate(value):
            refuse_unwritable(inner, f"{path}.{n}")


def _writable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\x00" not in text


_SECRET_NAMES: Final = frozenset(
    [
        "apikey",
        "apisecret",
        "secret",
        "secretkey",
        "clientsecret",
        "privatekey",
        "privkey",
        "mnemonic",
        "seed",
        "seedphrase",
        "passphrase",
        "password",
        "walletsecret",
        "signingkey",
        "accesskey",
        "accesstoken",
        "authtoken",
        "bearertoken",
        "exchangekey",
        "exchangesecret",
    ]
)


_SECRET_PARTS: Final = (
    "privatekey",
    "secretkey",
    "apikey",
    "apisecret",
    "mnemonic",
    "passphrase",
    "seedphrase",
    "seedwords",
    "recoveryphrase",
)
_SECRET_ENDS: Final = ("secret", "seed", "password", "privkey", "apitoken", "accesstoken", "authtoken", "bearertoken")


def refuse_secrets(value: Any, path: str = "") -> None:
    """Refuse a body with a secret-shaped field at any depth, whatever its case and separators (contract 7).

    Errors: `secret_not_accepted`; it names the field and never repeats the value.
    """
    if isinstance(value, Mapping):
        for name, inner in value.items():
            plain = re.sub(r"[^a-z0-9]", "", str(name).lower())
            if plain in _SECRET_NAMES or plain.endswith(_SECRET_ENDS) or any(part in plain for part in _SECRET_PARTS):
                raise Refused(refusal("secret_not_accepted", field=f"{path}{name}"[:80]))
            refuse_secrets(inner, f"{path}{name}.")
    elif isinstance(value, list):
        for n, inner in enumerate(value):
            refuse_secrets(inner, f"{path}{n}.")


def reconcile_step(public_id: str) -> NextStep:
    """The next step where something may have been sent: ask, do not send again."""
    return NextStep("Ask what happened before sending again", "mandate_reconcile", f"GET /wallet/mandates/{public_id}/reconcile")
