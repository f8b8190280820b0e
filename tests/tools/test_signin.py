"""Signing in: one text, one use, five minutes; sessions that slide and end; what a credential resolves to."""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta
from typing import Any

import pytest
from eth_abi import encode

from chain.rpc.client import RpcClient
from domain.settings import Config
from storage.repositories.people import Session
from tests.chain.test_signatures import deployed
from tests.world import CHAIN_ID, START, World, error_of
from tools.context.credentials import hashed, prolonged, resolve, slide
from tools.model.operation import ANONYMOUS, Caller, OperationResult

pytestmark = pytest.mark.anyio


async def challenged(world: World, wallet: Any, **more: Any) -> dict[str, Any]:
    return await world.ok(
        "auth_challenge", ANONYMOUS, address=wallet.address, chain_id=CHAIN_ID, **more
    )


async def opens(world: World, message: str, signature: str) -> OperationResult:
    return await world.do("auth_session_open", message=message, signature=signature)


async def signed_in(world: World, wallet: Any) -> dict[str, Any]:
    text = (await challenged(world, wallet))["message"]
    return await world.ok(
        "auth_session_open", ANONYMOUS, message=text, signature=wallet.sign_text(text)
    )


async def who(
    world: World, credential: str, header: Any = "bearer", *, on_mcp: bool = False
) -> Caller | None:
    now = world.clock.now()
    return await world.store.read(
        lambda uow: resolve(uow, header, credential, now, on_mcp=on_mcp)[0]
    )


async def test_a_wallet_signs_in_reads_its_session_and_signs_out(both: World) -> None:
    wallet = both.wallet()
    opened = await signed_in(both, wallet)
    assert opened["user"] == {"address": wallet.address, "chain_id": None}
    assert opened["expires_at"] == "2026-11-21T00:00:00.000Z"
    caller = await who(both, opened["token"])
    assert caller is not None
    assert (caller.role, caller.address) == ("owner", wallet.address)
    assert await both.ok("auth_session_read", caller) == {
        "expires_at": opened["expires_at"],
        "user": opened["user"],
    }
    assert await both.ok("auth_session_end", caller) == {"ok": True}
    assert await who(both, opened["token"]) is None
    assert await error_of(both.do("auth_session_read", caller)) == "unauthenticated"


async def test_the_same_wallet_is_the_same_person_in_any_case(world: World) -> None:
    wallet = world.wallet()
    first = await who(world, (await signed_in(world, wallet))["token"])
    told = await world.ok(
        "auth_challenge", ANONYMOUS, address=wallet.address.lower(), chain_id=CHAIN_ID
    )
    again = await world.ok(
        "auth_session_open",
        ANONYMOUS,
        message=told["message"],
        signature=wallet.sign_text(told["message"]),
    )
    second = await who(world, again["token"])
    assert first is not None
    assert second is not None
    assert first.user_id == second.user_id


async def test_a_text_is_good_once_and_for_five_minutes(both: World) -> None:
    wallet = both.wallet()
    text = (await challenged(both, wallet))["message"]
    signed = {"message": text, "signature": wallet.sign_text(text)}
    both.clock.forward(minutes=4, seconds=59)
    assert (await both.do("auth_session_open", ANONYMOUS, **signed)).status == 201
    assert await error_of(both.do("auth_session_open", ANONYMOUS, **signed)) == "invalid_signature"
    late = (await challenged(both, wallet))["message"]
    both.clock.forward(minutes=5)
    reply = await opens(both, late, wallet.sign_text(late))
    assert reply.body["error"] == "invalid_signature"
    assert reply.body["next"][0]["route"] == "POST /wallet/auth/challenge"


async def test_only_the_services_own_text_signed_by_its_wallet_opens_a_session(
    world: World,
) -> None:
    wallet, other = world.wallet(), world.wallet()
    text = (await challenged(world, wallet))["message"]
    changed = [
        (text, other.sign_text(text)),
        (text + " ", wallet.sign_text(text + " ")),
        (
            text.replace("127.0.0.1", "evil.example"),
            wallet.sign_text(text.replace("127.0.0.1", "evil.example")),
        ),
        (
            text.replace(wallet.address, other.address),
            other.sign_text(text.replace(wallet.address, other.address)),
        ),
        ("hello", wallet.sign_text("hello")),
        (text, "0x" + "00" * 65),
        (text, "0x12"),
    ]
    for message, signature in changed:
        reply = await opens(world, message, signature)
        assert (reply.status, reply.body["error"]) == (400, "invalid_signature"), message
    assert (await opens(world, text, wallet.sign_text(text))).status == 201


async def test_a_text_that_differs_anywhere_is_not_ours_and_no_chain_is_asked(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    ask = RpcClient.ask

    async def recorded(rpc: RpcClient, method: str, *more: Any) -> Any:
        asked.append(method)
        return await ask(rpc, method, *more)

    monkeypatch.setattr(RpcClient, "ask", recorded)
    wallet = world.wallet()
    told = await challenged(world, wallet)
    text, another = told["message"], await challenged(world, world.wallet())
    differing = [text[:n] + chr(ord(text[n]) ^ 1) + text[n + 1 :] for n in range(len(text))]
    differing += [
        text + "\n", text + "\r\n", "\n" + text, text[:-1], text.replace("\n", "\r"), text.replace("\n", "\n\n"), text.replace("\n", "\r\r\n"),
        text.replace("\n", "\u2028"), text.upper(), text.replace(told["nonce"], another["nonce"]), text.replace(told["nonce"], "n" * 22),
        text.replace("Nonce", "Non\u0441e"), text + "\nNonce: " + told["nonce"], "\nNonce: " + told["nonce"],
    ]  # fmt: skip
    for message in differing:
        reply = await opens(world, message, "0x12")
        assert (reply.status, reply.body["error"]) == (400, "invalid_signature"), message
        assert reply.body["next"][0]["route"] == "POST /wallet/auth/challenge"
    assert asked == []
    # The text itself takes the question to the chain: the recorder would have seen it.
    assert await error_of(opens(world, text, "0x12")) == "invalid_signature"
    assert asked != []


async def test_a_form_may_have_made_the_ends_of_lines_longer(world: World) -> None:
    wallet = world.wallet()
    text = (await challenged(world, wallet))["message"]
    posted = text.replace("\n", "\r\n")
    assert (await opens(world, posted, wallet.sign_text(posted))).status == 400
    assert (await opens(world, posted, wallet.sign_text(text))).status == 201


async def test_of_many_that_bring_one_text_at_once_one_gets_a_session(both: World) -> None:
    wallet = both.wallet()
    text = (await challenged(both, wallet))["message"]
    signed = {"message": text, "signature": wallet.sign_text(text)}
    replies = await asyncio.gather(
        *(both.do("auth_session_open", ANONYMOUS, **signed) for _ in range(8))
    )
    assert sorted(r.status for r in replies) == [201] + [400] * 7


async def test_a_challenge_that_runs_out_while_the_chain_is_asked_opens_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    wallet = world.wallet()
    text = (await challenged(world, wallet))["message"]
    chain = type(world.chains.get(CHAIN_ID))
    check = chain.check_signature

    async def slow(*given: Any) -> Any:
        proof = await check(*given)
        world.clock.forward(minutes=5)
        return proof

    monkeypatch.setattr(chain, "check_signature", slow)
    reply = await opens(world, text, wallet.sign_text(text))
    assert reply.body["error"] == "invalid_signature"


async def test_a_contract_wallet_signs_in(world: World) -> None:
    person = world.wallet()
    address = await deployed(
        world.evm, world.chains, "TestWallet", encode(["address"], [person.address])
    )
    told = await world.ok("auth_challenge", ANONYMOUS, address=address, chain_id=CHAIN_ID)
    stranger = world.wallet().sign_text(told["message"])
    assert (
        await world.do("auth_session_open", ANONYMOUS, message=told["message"], signature=stranger)
    ).status == 400
    opened = await world.ok(
        "auth_session_open",
        ANONYMOUS,
        message=told["message"],
        signature=person.sign_text(told["message"]),
    )
    assert opened["user"]["address"].lower() == address.lower()


async def calls_for(world: World, message: str) -> int:
    """How many calls the interpreter makes to refuse a text."""
    seen = 0

    def profile(frame: object, event: str, arg: object) -> None:
        nonlocal seen
        seen += 1
        # Enough to fail; a grammar that backtracks would keep the test busy for minutes.
        if seen > 200_000:
            sys.setprofile(None)

    sys.setprofile(profile)
    try:
        reply = await opens(world, message, "0x12")
    finally:
        sys.setprofile(None)
    assert reply.body["error"] == (
        "invalid_signature" if len(message) <= 8_000 else "invalid_request"
    )
    return seen


@pytest.mark.parametrize(
    "piece",
    [
        "0",
        "\n",
        "\r\n",
        "\nNonce: ",
        "a://",
        "127.0.0.1 wants you to sign in with your Ethereum account:\n",
    ],
)
async def test_a_strangers_text_costs_no_more_work_for_being_long(world: World, piece: str) -> None:
    await calls_for(world, piece)
    short = await calls_for(world, piece)
    for length in (2_000, 4_000, 8_000, 250_000):
        assert await calls_for(world, (piece * length)[:length]) < 2 * short + 1_000


@pytest.mark.parametrize("address", ["", "0x12", "0x" + "zz" * 20, "vitalik.eth"])
async def test_a_challenge_is_for_an_address(world: World, address: str) -> None:
    assert (
        await error_of(world.do("auth_challenge", ANONYMOUS, address=address)) == "invalid_address"
    )


def test_a_session_at_its_longest_is_not_written_again_by_every_call() -> None:
    last = START + timedelta(hours=3)
    ended = Session("u_a", "0x" + "11" * 20, START, last, last)
    assert prolonged(ended, START, Config()) is None
    half = Session("u_a", "0x" + "11" * 20, START, last, START + timedelta(hours=4))
    assert prolonged(half, START, Config()) == START + timedelta(hours=4)


async def test_a_session_slides_while_it_is_used_but_ends_after_seven_days(world: World) -> None:
    token = (await signed_in(world, world.wallet()))["token"]

    async def used() -> None:
        now = world.clock.now()
        await world.store.write(lambda uow: slide(uow, hashed(token), now, world.deps.config))

    async def ends() -> Any:
        now = world.clock.now()
        live = await world.store.read(lambda uow: uow.identities.session(hashed(token), now))
        return live.expires_at if live else None

    world.clock.forward(hours=5)
    await used()
    assert await ends() == START + timedelta(hours=12)
    world.clock.forward(hours=2)
    await used()
    assert await ends() == START + timedelta(hours=19)
    for _ in range(40):
        world.clock.forward(hours=11)
        await used()
    assert await ends() is None
    assert await who(world, token) is None
    assert world.clock.now() > START + timedelta(days=7)


async def test_a_session_dies_twelve_hours_after_its_last_use(world: World) -> None:
    token = (await signed_in(world, world.wallet()))["token"]
    world.clock.forward(hours=12)
    assert await who(world, token) is None


async def test_each_credential_opens_its_own_door_only(world: World) -> None:
    token = (await signed_in(world, world.wallet()))["token"]
    owner, _ = await world.owner()
    key = (await world.ok("owner_agent_register", owner, name="Scout"))["key"]
    now = world.clock.now()
    await world.store.write(
        lambda uow: uow.identities.add_house_key("k_1", "keeper", hashed("kk_house"), now)
    )
    await world.store.write(
        lambda uow: uow.identities.add_house_key("k_2", "admin", hashed("dk_house"), now)
    )
    roles = {
        (header, on_mcp): [
            getattr(await who(world, c, header, on_mcp=on_mcp), "role", None)
            for c in (token, key, "kk_house", "dk_house")
        ]
        for header in ("bearer", "agent_key")
        for on_mcp in (False, True)
    }
    assert roles == {
        ("bearer", False): ["owner", None, "keeper", "admin"],
        ("agent_key", False): [None, "agent", None, None],
        ("bearer", True): [None, "agent", None, None],
        ("agent_key", True): [None, "agent", None, None],
    }
    await world.store.write(lambda uow: uow.identities.revoke_house_key("k_1", now))
    assert await who(world, "kk_house") is None


async def test_no_secret_is_stored(world: World) -> None:
    token = (await signed_in(world, world.wallet()))["token"]
    owner, _ = await world.owner()
    key = (await world.ok("owner_agent_register", owner, name="Scout"))["key"]
    assert len(key) == len("ak_") + 43
    for table in ("sessions", "agent_keys", "agents", "hall_agents"):
        rows = await world.store.read(
            lambda uow, t=table: [dict(r) for r in uow.sql.rows(f"SELECT * FROM {t}")]
        )  # type: ignore[misc]
        assert token not in str(rows)
        assert key not in str(rows)
