"""Consent: an app asks to connect, and the owner answers."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import astuple, dataclass, fields, replace
from datetime import datetime
from typing import Annotated, Final, Literal
from urllib.parse import quote, urlencode, urlsplit

from pydantic import Field

from domain.agents.grants import (
    ASK_FOR,
    CODE_FOR,
    Grant,
    Scope,
    Scopes,
    is_on_this_machine,
    redirect_host,
)
from domain.agents.sent_calls import HostedKey
from domain.next_steps import NextStep
from domain.refusals import Refused, invalid, refusal
from domain.settings import Config
from storage.unit_of_work import UnitOfWork
from tools.agents.app_clients import app_of
from tools.agents.connected_apps import OWN_WORDS
from tools.agents.hosted_key import keep_key, ready_key
from tools.agents.registry import check_new_agent, new_agent, own_agent
from tools.context.credentials import hashed
from tools.dispatch.request_context import request_context
from tools.dispatch.storage_allowance import written
from tools.model.fields import AgentId, Name
from tools.model.operation import (
    Caller,
    Deps,
    Operation,
    RequestContext,
    RequestModel,
    ResponseModel,
)
from tools.model.sealing import KeyRing, SealBroken

# A path has 1,024 bytes at the most, and the page's own part of it.
ASK_MAX: Final = 980
_PURPOSE: Final = "oauth ask of a document"

AskToken = Annotated[
    str,
    Field(
        max_length=ASK_MAX,
        description="the last part of the page's address",
        examples=["s1.AbCdEfGh"],
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A checked request of an app to connect, on its way to the owner and back; `document` is the
    id of an app that publishes one, None for an app that registered itself.
    """

    client_hash: str
    document: str | None
    client_name: str
    redirect_uri: str
    state: str | None
    code_challenge: str
    scopes: Scopes
    resource: str

    @property
    def client_host(self) -> str | None:
        """The host that stands behind its id."""
        return None if self.document is None else urlsplit(self.document).hostname


def sealed(sealing: KeyRing, ask: Ask, now: datetime) -> str:
    """The ask as the last part of a link, which is good for ten minutes and stored nowhere."""
    until = int((now + ASK_FOR).timestamp())
    plain = json.dumps([until, *astuple(ask)], separators=(",", ":"))
    return sealing.seal(_PURPOSE, zlib.compress(plain.encode(), 9))


def _opened(sealing: KeyRing, token: str, now: datetime) -> Ask:
    """The ask of a link. Errors: `not_found` for one that is too old, or none of ours."""
    try:
        raw = json.loads(zlib.decompress(sealing.open(_PURPOSE, token)))
    except SealBroken:
        raise _no_ask() from None
    until, *values = raw
    if now.timestamp() >= until:
        raise _no_ask()
    ask = Ask(**dict(zip((f.name for f in fields(Ask)), values, strict=True)))
    return replace(ask, scopes=tuple(ask.scopes))


def _no_ask() -> Refused:
    return Refused(refusal("not_found", what="request of an app to connect", next=(_START_AGAIN,)))


_START_AGAIN: Final = NextStep("Start connecting again in the app: a link lasts ten minutes")
_ANSWERS: Final = "connect"  # the scope of the records of what was answered
DENIED: Final[Mapping[str, str]] = {"error": "access_denied"}  # RFC 6749, 4.1.2.1
ANSWERED: Final[Mapping[str, str]] = {
    "allow": "You answered this request already: you connected the app.",
    "deny": "You answered this request already: you refused the app.",
}


def _noted(uow: UnitOfWork, caller: Caller, token: str) -> Mapping[str, object] | None:
    """The answer that an ask has, for the owner who gave it; None while there is none.

    Errors: `not_found` for all others, as of an ask that there never was.
    """
    record = uow.idempotency.find(_ANSWERS, hashed(token))
    if record is None or record.response is None:
        return None
    if record.response["owner_id"] != caller.user_id:
        raise _no_ask()
    return record.response


def _answered(earlier: Mapping[str, object]) -> Refused:
    detail = {name: earlier[name] for name in ("decision", "agent_id")}
    why = ANSWERED[str(earlier["decision"])]
    return Refused(refusal("conflict", why=why, detail=detail, next=(_START_AGAIN,)))


def _note(uow: UnitOfWork, ctx: RequestContext[AnswerIn, None], answer: ConnectAnswer) -> None:
    """Note the answer of an ask, in the transaction of what it does: of two at once the later one
    meets the other's. Errors: `conflict`; `not_found` where another owner answered.
    """
    key, request = hashed(ctx.request.ask), ctx.request
    if not uow.idempotency.acquire(_ANSWERS, key, key, ctx.now).new:
        earlier = _noted(uow, ctx.caller, request.ask)
        raise _no_ask() if earlier is None else _answered(earlier)
    choice = {
        "owner_id": ctx.caller.user_id,
        "decision": request.decision,
        "chosen": _choice(request),
    }
    access = {"agent_id": answer.agent_id, "grant_id": answer.grant_id}
    uow.idempotency.complete(_ANSWERS, key, 200, choice | access)


def _choice(request: AnswerIn) -> str:
    """The owner's choice, by which the same one is recognised."""
    return hashed(request.model_dump_json(exclude={"ask"}))


def _again(uow: UnitOfWork, ctx: RequestContext[AnswerIn, None], ask: Ask) -> ConnectAnswer | None:
    """The answer to the owner who chooses the same once more, as by a second press of the button:
    the browser lost the first answer with its code. The same grant has another code, which alone is
    good. None where nothing was answered yet.

    Errors: `conflict` after another choice, and once the app has used the code; `not_found`.
    """
    earlier = _noted(uow, ctx.caller, ctx.request.ask)
    if earlier is None:
        return None
    if earlier["chosen"] != _choice(ctx.request):
        raise _answered(earlier)
    if earlier["grant_id"] is None:
        return _back(ctx.config, ask, None, **DENIED)
    rows = uow.grants.of_agent(str(earlier["agent_id"]), lock=True)
    hashes = (g.code_hash for g in rows if g.grant_id == earlier["grant_id"])
    # Read once more, behind an app that uses the code just now.
    grant = uow.grants.by_code(next(hashes, ""))
    if grant is None or grant.redeemed_at is not None or not grant.lasts(ctx.now):
        raise _answered(earlier)
    code = ctx.ids.token("ac_")
    uow.grants.save(replace(grant, code_hash=hashed(code), code_until=ctx.now + CODE_FOR))
    return _back(ctx.config, ask, grant, code=code)


def _back(config: Config, ask: Ask, grant: Grant | None, **answer: str) -> ConnectAnswer:
    """The address by which the browser takes the answer to the app."""
    sent: dict[str, str | None] = {**answer, "state": ask.state, "iss": config.base_url}
    to = with_parameters(ask.redirect_uri, sent)
    if grant is None:
        return ConnectAnswer(redirect=to, grant_id=None, agent_id=None)
    return ConnectAnswer(redirect=to, grant_id=grant.grant_id, agent_id=grant.agent_id)


CHANGED: Final = "What the app publishes of itself has changed, or cannot be read now."


def with_parameters(uri: str, parameters: Mapping[str, str | None]) -> str:
    """An address with more parameters in its query; those that are None are left out."""
    more = urlencode({n: v for n, v in parameters.items() if v is not None}, quote_via=quote)
    return f"{uri}{'&' if urlsplit(uri).query else '?'}{more}"


class AskIn(RequestModel):
    """A request of an app to connect, as its page names it."""

    ask: AskToken


class AskTold(ResponseModel):
    """An app that asks to connect: who it is, where the answer goes, what it asks for."""

    client_host: str | None = Field(
        description="host of the app's id; null for an app that registered itself and proved none"
    )
    client_name: str = Field(description=OWN_WORDS)
    redirect_host: str = Field(description="the host, or the scheme, that gets the answer")
    on_this_machine: bool = Field(description="the answer goes to a program on the user's machine")
    scopes: list[Scope]
    resource: str


class AnswerIn(AskIn):
    """The owner's answer: an agent of theirs, or the name of a new one."""

    decision: Literal["allow", "deny"]
    agent_id: AgentId | None = None
    agent_name: Name | None = Field(default=None, description="registers an agent, without a key")
    hold_key: bool = Field(
        default=False,
        description="let the signer hold a key for the agent: of a new one, and where it has none, "
        "it ends with this app's access",
    )


class ConnectAnswer(ResponseModel):
    """The address to which the browser takes the answer; its code is good for a minute, once."""

    redirect: str
    grant_id: str | None
    agent_id: str | None


async def ask_of(deps: Deps, caller: Caller, request: AskIn) -> Ask:
    """Open the link's seal. Errors: `not_found`."""
    return _opened(deps.sealing, request.ask, deps.clock.now())


def read_ask(uow: UnitOfWork, ctx: RequestContext[AskIn, Ask]) -> AskTold:
    """Say what an app asks for, before the owner answers. Errors: `conflict` afterwards."""
    earlier, ask = _noted(uow, ctx.caller, ctx.request.ask), ctx.facts
    if earlier is not None:
        raise _answered(earlier)
    return AskTold(
        client_host=ask.client_host,
        client_name=ask.client_name,
        redirect_host=redirect_host(ask.redirect_uri),
        on_this_machine=is_on_this_machine(ask.redirect_uri),
        scopes=list(ask.scopes),
        resource=ask.resource,
    )


async def answer_ask(deps: Deps, caller: Caller, request: AnswerIn) -> ConnectAnswer:
    """Give an app a code for one agent, or tell it that the owner refuses: one grant ever, whatever
    comes of the code. What is refused leaves neither an agent nor a key behind.
    """
    ask = await ask_of(deps, caller, request)
    allow = request.decision == "allow"
    if allow and (request.agent_id is None) == (request.agent_name is None):
        raise invalid("agent_id", "an agent of yours, or agent_name for a new one")
    if allow and request.hold_key and "wallet:act" not in ask.scopes:
        raise invalid("hold_key", "the app does not ask to act: it needs no key")

    def context(uow: UnitOfWork) -> RequestContext[AnswerIn, None]:
        return request_context(uow, deps, caller, deps.clock.now(), request=request)

    def again(uow: UnitOfWork) -> ConnectAnswer | None:
        return _again(uow, context(uow), ask)

    def denied(uow: UnitOfWork) -> ConnectAnswer:
        answer = _back(deps.config, ask, None, **DENIED)
        _note(uow, context(uow), answer)
        return answer

    if (first := await written(deps, caller, again)) is not None:
        return first
    try:
        return await (
            _allow(deps, caller, request, ask) if allow else written(deps, caller, denied)
        )
    except Refused as refused:
        # Of two presses at once the later one meets the answer of the other.
        if refused.code == "conflict" and (first := await written(deps, caller, again)) is not None:
            return first
        raise


async def _allow(deps: Deps, caller: Caller, request: AnswerIn, ask: Ask) -> ConnectAnswer:
    await _check_document(deps, caller, ask)
    agent_id = request.agent_id or deps.ids.short("u_")
    now = deps.clock.now()

    def checked(uow: UnitOfWork) -> None:
        ctx = request_context(uow, deps, caller, now, request=request)
        if request.agent_name is None:
            own_agent(uow, caller, agent_id)
        else:
            check_new_agent(uow, ctx, request.agent_name)

    def allowed(uow: UnitOfWork) -> ConnectAnswer:
        ctx = request_context(uow, deps, caller, deps.clock.now(), request=request)
        return _allowed(uow, ctx, ask, agent_id, key)

    key = None
    if request.hold_key:
        await deps.store.read(checked)
        key = await ready_key(deps, agent_id, ends_with_apps=True)
    try:
        return await written(deps, caller, allowed)
    except Refused:
        # An agent that there is has the same key at its next consent; of a new one nobody knows.
        if key is not None and request.agent_name is not None and deps.agent_signer is not None:
            await deps.agent_signer.agent_key_end(key.name)
        raise


async def _check_document(deps: Deps, caller: Caller, ask: Ask) -> None:
    """Hold the ask to what the app publishes now: the owner was shown what was kept of it.

    Errors: `conflict`.
    """
    if ask.document is None:
        return
    app = await app_of(deps, ask.document, caller.user_id or "", fresh=True)
    if app is None or not app.takes(ask.redirect_uri) or app.name != ask.client_name:
        raise Refused(refusal("conflict", why=CHANGED, next=(_START_AGAIN,)))


def _allowed(
    uow: UnitOfWork,
    ctx: RequestContext[AnswerIn, None],
    ask: Ask,
    agent_id: str,
    key: HostedKey | None,
) -> ConnectAnswer:
    """The grant and its code. An agent that is made here has no API key: the app has its grant. No
    scope has anything of an owner's right in it.
    """
    if ctx.request.agent_name is None:
        agent = own_agent(uow, ctx.caller, agent_id, lock=True)
    else:
        agent = new_agent(uow, ctx, agent_id, ctx.request.agent_name)
    code, held = ctx.ids.token("ac_"), None
    if key is not None and (kept := keep_key(uow, ctx, key)).ends_with_apps:
        held = kept.number
    grant = Grant(
        grant_id=ctx.ids.short("g_"),
        owner_id=agent.owner_id,
        agent_id=agent.agent_id,
        client_hash=ask.client_hash,
        client_host=ask.client_host,
        client_name=ask.client_name,
        redirect_uri=ask.redirect_uri,
        scopes=ask.scopes,
        resource=ask.resource,
        created_at=ctx.now,
        code_hash=hashed(code),
        code_challenge=ask.code_challenge,
        code_until=ctx.now + CODE_FOR,
        held_key=held,
    )
    uow.grants.add(grant, ctx.now)
    answer = _back(ctx.config, ask, grant, code=code)
    _note(uow, ctx, answer)
    return answer


OPERATIONS: Final = (
    Operation(
        name="owner_connect_read",
        title="Read an app's request",
        summary="Which app asks to connect, where the answer goes, and what it asks for.",
        auth="owner",
        route=("GET", "/wallet/connect/{ask}"),
        request_model=AskIn,
        response_model=AskTold,
        handler=read_ask,
        gather=ask_of,
        sessions_only=True,
        verbatim=frozenset({"ask"}),
        family="agents",
        refusals=("not_found", "conflict"),
    ),
    Operation(
        name="owner_connect_answer",
        title="Answer an app's request",
        summary="Let an app act for one agent of yours, or refuse it.",
        auth="owner",
        route=("POST", "/wallet/connect/{ask}"),
        request_model=AnswerIn,
        response_model=ConnectAnswer,
        pass_through=answer_ask,
        writes=True,
        sessions_only=True,
        verbatim=frozenset({"ask"}),
        family="agents",
        refusals=("not_found", "conflict", "not_configured", "signer_refused"),
    ),
)
