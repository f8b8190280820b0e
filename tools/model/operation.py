"""Operation: its declaration, and what its handler is given."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict

from domain.agents.grants import READ, Scope, Scopes
from domain.next_steps import NextStep, Role
from domain.ports import (
    AgentSigner,
    Chains,
    Clock,
    HouseKeeper,
    Ids,
    OrderSigner,
    SignInVerifier,
    Venues,
)
from domain.settings import Config, Switches
from domain.spans import Tracer
from domain.trading.throttle import Throttle
from storage.prefetch.read_set import ReadSet
from storage.read_replica import ReadReplica
from storage.store import Store
from storage.unit_of_work import UnitOfWork
from tools.model.client_documents import ClientDocuments
from tools.model.paper_port import PaperExchange
from tools.model.rate_limiter import RateLimiter
from tools.model.sealing import KeyRing, ephemeral_ring
from tools.model.shutdown import Shutdown
from tools.model.stored_bytes import OwnerDays
from tools.model.telemetry import NullTelemetry, Telemetry
from tools.model.web_push import WebPush
from tools.model.webhook_signing import WebhookSigning

# What a call weighs against the rate limits that reads much, or asks a chain.
HEAVY: Final = 5
# Agents of whom a process remembers whose keys they had.
PRESUMED_KEPT: Final = 10_000

Auth = Literal["open", "owner", "agent", "owner_or_agent", "keeper", "admin"]


Transport = Literal["http", "mcp", "house"]


class RequestModel(BaseModel):
    """Base of every operation's input: flat, closed, strict (contract 1)."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class ResponseModel(BaseModel):
    """Base of every operation's answer: the shape that OpenAPI and MCP publish."""

    model_config = ConfigDict(extra="forbid", from_attributes=True, defer_build=True)


@dataclass(frozen=True, slots=True)
class GrantedAccess:
    """The reach of an app's access token: the grant behind it, its scopes, and the one address at
    which it may be used. `used_at` is its last use that was noted.
    """

    grant_id: str
    scopes: Scopes
    resource: str
    used_at: datetime | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of an operation: a role, and the user id behind the credential (None for
    anonymous callers, keeper and admin).

    `owner_id` is set for an agent: the person who registered it. `address` is a person's wallet,
    `chain_id` the one chain where its word counts where it is a contract (None for a key).
    `from_cache`: the key was this agent's when it was last looked up, and is looked up in the call.
    `access` is set where an app calls with an access token: then `credential` names the app and the
    agent, for tokens and grants change. `network_address` is where a relay's call came from.
    """

    role: Role
    user_id: str | None = None
    owner_id: str | None = None
    address: str | None = None
    name: str | None = None
    credential: str | None = None
    chain_id: int | None = None
    access: GrantedAccess | None = None
    from_cache: bool = field(default=False, compare=False)
    network_address: str | None = field(default=None, compare=False)

    @property
    def payer(self) -> str:
        """The subject whose share a relay counts against: the owner, else the network address."""
        return self.owner_id or self.user_id or self.network_address or ""


ANONYMOUS: Final = Caller("nobody")


class CredentialCache:
    """Agents by the hash of their keys; the entry that was added first is dropped first."""

    def __init__(self) -> None:
        self._agents: dict[str, Caller] = {}

    def of(self, digest: str) -> Caller | None:
        """The cached caller of a key's hash; None where there is none."""
        return self._agents.get(digest)

    def keep(self, caller: Caller) -> None:
        """Remember whose key it is; of a caller without an agent key nothing is kept."""
        if caller.role != "agent" or caller.credential is None or caller.access is not None:
            return
        self._agents[caller.credential] = replace(caller, from_cache=True)
        if len(self._agents) > PRESUMED_KEPT:
            del self._agents[next(iter(self._agents))]

    def forget(self, caller: Caller) -> None:
        """Drop a key from the cache."""
        self._agents.pop(caller.credential or "", None)


@dataclass(frozen=True, slots=True)
class Deps:
    """Dependencies of operations; composed in `server.wiring`."""

    store: Store
    chains: Chains
    clock: Clock
    ids: Ids
    config: Config
    sign_in: SignInVerifier
    defaults: Switches = field(default_factory=Switches)
    keeper: HouseKeeper | None = None
    rates: RateLimiter = field(default_factory=RateLimiter)
    venues: Venues | None = None
    signer: OrderSigner | None = None
    agent_signer: AgentSigner | None = None
    throttle: Throttle = field(default_factory=Throttle)
    paper: PaperExchange | None = None
    webhooks: WebhookSigning | None = None
    push: WebPush | None = None
    email: bool = False
    watch: Telemetry = field(default_factory=NullTelemetry)
    tracer: Tracer | None = None
    replica: ReadReplica | None = None
    credential_cache: CredentialCache = field(default_factory=CredentialCache)
    sealing: KeyRing = field(default_factory=ephemeral_ring)
    stored: OwnerDays = field(default_factory=OwnerDays)
    documents: ClientDocuments | None = None
    shutdown: Shutdown = field(default_factory=Shutdown)

    @property
    def has_peers(self) -> bool:
        """True where the operator said, by a key ring, that several processes serve."""
        return self.sealing.shared and not self.store.url.startswith("sqlite:")


T = TypeVar("T", bound=BaseModel, covariant=True)
F = TypeVar("F", covariant=True)
A = TypeVar("A", covariant=True)


@dataclass(frozen=True, slots=True)
class RequestContext(Generic[T, F]):
    """One validated call, as a handler sees it; `facts` is what `gather` brought."""

    caller: Caller
    request: T
    facts: F
    now: datetime
    ids: Ids
    chains: Chains
    config: Config
    switches: Switches
    sign_in: SignInVerifier
    defaults: Switches = field(default_factory=Switches)
    transport: Transport = "http"


# A call of any operation: its caller, its time and what it may use, without its request's fields.
AnyContext: TypeAlias = RequestContext[BaseModel, object]


@dataclass(frozen=True, slots=True)
class HandlerResult(Generic[A]):
    """A value of the operation's `response_model`, where its status is not the first that the
    operation declares, or a repeat with the same idempotency key gets another one: `stored_body`,
    without what is secret, or true for a moment only.
    """

    body: A
    status: int | None = None
    stored_body: A | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RenderedResult(Generic[A]):
    """A value of the operation's `response_model` in its wire form already, put together of pieces
    that were written one by one.
    """

    body: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class OperationResult:
    """An answer as it leaves: HTTP status, JSON body, and headers that only HTTP shows;
    `stored_body` is what a repeat with the same idempotency key gets, where that is not the body.
    """

    status: int
    body: Mapping[str, object]
    headers: Mapping[str, str] = field(default_factory=dict)
    stored_body: Mapping[str, object] | None = None

    @property
    def refused(self) -> bool:
        """True for a refusal block."""
        return self.status >= 400 and "error" in self.body


def behind_door(name: str) -> bool:
    """Whether the bot-door switch hides a tool (spec 4.5)."""
    return name.startswith("mandate_")


# What a handler returns: a value of the operation's `response_model`, with the first status that
# the operation declares; a `HandlerResult` or `RenderedResult` of one.
Answer: TypeAlias = object


Handler = Callable[[UnitOfWork, RequestContext[Any, Any]], Answer]


Gather = Callable[[Deps, Caller, Any], Awaitable[Any]]


B = TypeVar("B")


D = TypeVar("D")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ExternalEffect(Generic[B, D]):
    """Something that is done outside, in three steps; `tools.dispatch.external_effects` takes them.

    `begin` and `finish` run in one transaction each, and the idempotency key is claimed in the
    first and completed in the second. `act` runs between them with none open, for at most `bound_s`
    seconds. A refusal raised by `act` says that nothing has happened outside: `undo` takes back
    what `begin` wrote. What `act` cannot know it returns, for `finish` to record; what it raises
    besides leaves the outcome unknown, and `reconcile` says where to ask. Without `begin` it is
    `act` that takes what was asked, without `finish` its result is the reply; then a call without
    a key needs no transaction of ours.
    """

    act: Callable[[Deps, Caller, B], Awaitable[D]]
    begin: Callable[[UnitOfWork, RequestContext[Any, Any]], B] | None = None
    finish: Callable[[UnitOfWork, RequestContext[Any, Any], B, D], Answer] | None = None
    undo: Callable[[UnitOfWork, RequestContext[Any, Any], B], None] | None = None
    reconcile: tuple[NextStep, ...] = ()
    bound_s: int = 60


ReadSetFor = Callable[[Any, datetime], ReadSet]


PassThrough = Callable[[Deps, Caller, Any], Awaitable[Answer]]


RateCounter = Callable[[Deps, Caller], Awaitable[None]]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Operation:
    """One thing the service does: an MCP tool, a route, an OpenAPI path and a line of skill.md are
    made from it.

    `handler` runs inside one transaction (a read-only one unless `writes`). `gather` runs before
    it, with none open. `read_set` names what both will look at, which is brought for many calls at
    once; all of a read is as of that moment. An operation with an outside effect has `effect` in
    place of `handler`; a read that passes on what others said or what stays as it is, some of it a
    turn and with no transaction of its own, has `pass_through`.
    `idempotency` makes the scope of spec 2.17 from caller and input, None for a call that stores
    nothing. `statuses` are the successes, with their meaning; the first is that of an answer which
    names none.
    `weight` is what a call counts against the rate limits. `verbatim` names inputs that are
    compared byte for byte, and neither stored nor shown. `is_relay`: it has a limit a minute and
    address of its own.
    `streams`: over HTTP the answer is where a stream begins, and the stream follows.
    `long`: what it takes may be longer than a request line, so that the path of its GET takes a
    POST with a JSON body too.
    `in_query` names inputs that travel in the query of a write route; a GET has all of them there.
    `scope` is what an app's access token needs for it, where that is not what follows from `auth`
    and `writes`.
    `may_lag`: a read that may be as of a few seconds ago, which a read replica takes.
    """

    name: str
    title: str
    summary: str
    auth: Auth
    route: tuple[str, str] | None
    request_model: type[RequestModel]
    response_model: type[Any]
    handler: Handler | None = None
    gather: Gather | None = None
    read_set: ReadSetFor | None = None
    effect: ExternalEffect[Any, Any] | None = None
    pass_through: PassThrough | None = None
    count_call: RateCounter | None = None
    sessions_only: bool = False
    writes: bool = False
    weight: int = 1
    is_relay: bool = False
    destructive: bool = False
    idempotent: bool = False
    open_world: bool = False
    on_mcp: bool = False
    verbatim: frozenset[str] = frozenset()
    family: str = "mandates"
    statuses: Mapping[int, str] = field(default_factory=lambda: {200: "Done"})
    refusals: tuple[str, ...] = ()
    idempotency: Callable[[Caller, Any], str | None] | None = None
    in_query: frozenset[str] = frozenset()
    streams: bool = False
    long: bool = False
    scope: Scope | None = None
    may_lag: bool = False

    @property
    def needed_scope(self) -> Scope | None:
        """The scope that an app's access token needs; None where no agent's right is used."""
        if self.auth not in ("agent", "owner_or_agent"):
            return None
        return self.scope or ("wallet:act" if self.writes else READ)

    @property
    def behind_door(self) -> bool:
        """True for the MCP tools that the bot-door switch hides (spec 4.5)."""
        return behind_door(self.name)

    @property
    def status(self) -> int:
        """The status of an answer that names none."""
        return next(iter(self.statuses))

    @property
    def path_names(self) -> tuple[str, ...]:
        """Inputs that travel in the path."""
        return tuple(re.findall(r"{(\w+)}", self.route[1])) if self.route else ()

    @property
    def routes(self) -> tuple[Operation, ...]:
        """The operation as each of its routes takes it: a `long` one by POST too."""
        if self.route is None or not self.long:
            return (self,) if self.route else ()
        return (self, replace(self, route=("POST", self.route[1]), long=False))

    @property
    def from_query(self) -> bool:
        """True where a door hands every input over as text."""
        return self.route is not None and self.route[0] == "GET"
