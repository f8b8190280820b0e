"""Every refusal, to everybody: its first step is one that the refused caller can take."""

from __future__ import annotations

import re
from datetime import timedelta
from string import Formatter
from typing import Any, get_args

import pytest

from domain.next_steps import EVERYBODY, Role
from domain.refusal_kinds.kind import RefusalKind
from domain.refusals import REFUSALS, Refused, refusal
from tests.surfaces.conftest import HEADERS, Service, credentials
from tests.surfaces.small import Reply
from tests.world import BY_NAME, START
from tools.catalogue import OPERATIONS
from tools.dispatch.idempotency import outcome_unknown
from tools.dispatch.run import _ROLES, check_role, refused_reply
from tools.model.operation import Caller

BY_ROUTE = {" ".join(op.route): op for op in OPERATIONS if op.route}
DOCUMENTS = {
    "GET /", "GET /openapi.json", "GET /wallet/skill.md", "GET /.well-known/oauth-authorization-server", "GET /.well-known/oauth-protected-resource/mcp/connect",
}  # fmt: skip
# What a caller does with their own hands, and which roles' hands those are.
BY_HAND = {
    "Sign detail.typed_data with the owner's wallet, and decide with signature": {"owner"},
    "Deposit at the venue, then approve the key again": {"owner"},
    "Revoke one at the venue, then approve the key again": {"owner"},
    "Link the wallet that owns the account": {"owner"},
    "Send the transaction that the call of this mandate made": {"owner"},
    "Prepare or open the order again, and sign what it gives": {"owner"},
    "Open the door: `wallet switch set door on`": {"admin"},
    "Set what `wallet doctor` names": {"admin"},
    "Ask the operator, who alone moves a link": EVERYBODY,
    "Send less": EVERYBODY,
    "Send detail.amount_wei of the chain's own coin to detail.address, and repeat": EVERYBODY,
    "Use a new key for a new request, the same key only to repeat the same one": EVERYBODY,
    "Send a 20-byte 0x address, in lower case or with its EIP-55 checksum": EVERYBODY,
    "Send a decimal string with at most 6 decimals, within ±1e12": EVERYBODY,
    "Correct the named fields": EVERYBODY,
    "Use one of the methods in the Allow header": EVERYBODY,
    "Find out what happened before you ask for it anew": EVERYBODY,
    "Send the request without it, and rotate that secret": EVERYBODY,
    "Send the agent key in X-Service-User-Key, or set WALLET_SERVICE_USER_KEY on stdio": EVERYBODY,
    "Correct the field that remaining names": EVERYBODY,
    "Reload, and decide again with the mode that is shown": EVERYBODY,
    "Ask again for no more than remaining": EVERYBODY,
    "Prepare a new order that minds what the venue said": EVERYBODY,
}
TOLD = re.compile(
    r"Tell the (owner|agent|operator): .+\. Ask again (after retry_at|in \d+ minutes?)"
)
WANTS = re.compile(r"required|exactly one of")
PAIRS = [(code, role) for code in sorted(REFUSALS) for role in get_args(Role)]


def an_example(kind: RefusalKind) -> Refused:
    """A refusal of this kind with a value in each place of its sentence."""
    values = {"usdc": "1.000000", "time": START}
    places = [(name, spec) for _, name, spec, _ in Formatter().parse(kind.sentence) if name]
    return Refused(
        refusal(kind.code, **{name: values.get(spec or "", "x") for name, spec in places})
    )


@pytest.mark.parametrize("code", sorted(REFUSALS))
def test_a_step_says_who_may_take_it_as_the_catalogue_does(code: str) -> None:
    for step in REFUSALS[code].next:
        if step.route is None or step.route in DOCUMENTS:
            assert step.tool is None or step.tool in BY_NAME
            continue
        op = BY_ROUTE[step.route]
        assert step.by == _ROLES[op.auth], step.text
        assert step.tool == (op.name if op.on_mcp else None), step.text


@pytest.mark.parametrize(("code", "role"), PAIRS)
def test_every_step_of_every_refusal_is_one_that_the_caller_can_take(code: str, role: Role) -> None:
    block = refused_reply(an_example(REFUSALS[code]), START, role).body
    assert block["next"], (code, role)
    for step in block["next"]:
        text = step["text"]
        if "retry_at" in text:
            assert "retry_at" in block, text
        if "route" in step:
            assert step["route"] not in BY_ROUTE or role in _ROLES[BY_ROUTE[step["route"]].auth]
        elif (told := TOLD.fullmatch(text)) is not None:
            assert told[1] not in (role, {"admin": "operator"}.get(role)), text
        elif not text.startswith(("Wait until retry_at", "Wait a minute, then ask again")):
            assert role in BY_HAND[text], text


def test_an_agent_is_told_to_tell_the_owner_who_paused() -> None:
    told = refused_reply(an_example(REFUSALS["mandate_paused"]), START, "agent").body["next"]
    assert told[0] == {"text": "Tell the owner: resume the mandate. Ask again in 10 minutes"}
    assert told[1]["tool"] == "mandate_get"
    owner = refused_reply(an_example(REFUSALS["mandate_paused"]), START, "owner").body["next"]
    assert owner[0]["route"] == "GET /wallet/mandates/{public_id}/resume-call"


@pytest.mark.parametrize("op", OPERATIONS, ids=lambda op: op.name)
def test_who_may_not_do_a_thing_learns_whose_it_is(op: Any) -> None:
    for role in get_args(Role):
        try:
            check_role(op, Caller(role))
        except Refused as refused:
            block = refused_reply(refused, START, role).body
            assert block["next"]
            if block["error"] == "forbidden":
                assert block["next"][0]["text"].startswith(("Tell ", "Read "))


def test_a_time_to_wait_is_said_in_seconds_until_it() -> None:
    late = Refused(refusal("rate_limited", why="x", retry_at=START + timedelta(seconds=41.2)))
    assert refused_reply(late, START).headers["Retry-After"] == "42"
    unknown = refused_reply(Refused(refusal("chain_unavailable", chain_id=1, why="x")), START)
    assert unknown.headers["Retry-After"] == "1"
    assert unknown.body["retry_at"] == "2026-11-20T12:00:01.000Z"


@pytest.mark.parametrize(
    "op", [op for op in OPERATIONS if op.effect is not None], ids=lambda op: op.name
)
def test_who_does_not_know_what_became_of_it_is_told_where_to_look(op: Any) -> None:
    for role in _ROLES[op.auth] if op.auth != "open" else ():
        first = refused_reply(outcome_unknown(op), START, role).body["next"][0]
        assert role in _ROLES[BY_ROUTE[first["route"]].auth], first


@pytest.mark.anyio
async def test_the_first_step_of_every_refusal_can_be_taken(service: Service) -> None:
    """Taken is a route that answers, that wants what it is to be given, or that the mandate's own
    standing refuses: never one that is closed to the caller, gone, or broken.
    """
    await credentials(service)
    m, taken = service.mandate, dict[tuple[str, Role], Reply]()
    for code, role in PAIRS:
        step = refused_reply(an_example(REFUSALS[code]), START, role).body["next"][0]
        route = step.get("route")
        if route is None:
            continue
        if (route, role) not in taken:
            method, _, path = route.partition(" ")
            path = path.replace("{public_id}", m.id).replace("{agent_id}", str(m.agent.user_id))
            taken[route, role] = await service.ask(method, path, headers=HEADERS[role], json=None)
        reply = taken[route, role]
        assert reply.status < 300 or reply.status in (400, 409), (code, step, reply.text)
        if reply.status == 400:
            assert reply.body["error"] == "invalid_request", (code, step, reply.text)
            fields = reply.body["detail"]["fields"]
            assert all(WANTS.search(f["msg"]) for f in fields), (step, reply.text)
    assert len(taken) > 10
