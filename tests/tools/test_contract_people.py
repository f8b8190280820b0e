"""A contract's word counts on its chain: the same address on another chain is somebody else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from eth_abi import encode

from chain.adapter import ChainConfig
from chain.chains import EvmChains
from devtools.devchain import DevChain, serve_in_thread
from storage.repositories.people import User
from tests.chain.test_signatures import artifact
from tests.world import CHAIN_ID, World, error_of
from tools.context.credentials import resolve
from tools.model.operation import ANONYMOUS, Caller

pytestmark = pytest.mark.anyio
OTHER = CHAIN_ID + 1


@pytest.fixture
async def two(world: World) -> AsyncIterator[World]:
    """The world with a second chain beside its own."""
    at = int(world.clock.now().timestamp())
    with serve_in_thread(DevChain(lambda: at, OTHER)) as url:
        assert world.facts is not None
        chains = EvmChains([world.facts, ChainConfig(OTHER, url, confirmations=0)])
        before = world.deps
        world.deps = replace(before, chains=chains)
        yield world
        world.deps = before
        await chains.close()


async def one_address(world: World, on_one: str, on_other: str) -> str:
    """A contract wallet at one address on both chains, with another owner on each."""
    made = []
    for chain_id, owner in ((CHAIN_ID, on_one), (OTHER, on_other)):
        rpc = world.deps.chains.get(chain_id).node()  # type: ignore[attr-defined]  # they are EVM chains
        data = artifact("TestWallet")["bytecode"] + encode(["address"], [owner]).hex()
        sender = (await rpc.ask("eth_accounts"))[9]  # who has sent nothing on either chain
        tx = await rpc.ask("eth_sendTransaction", {"from": sender, "data": data})
        made.append(await rpc.ask("eth_getTransactionReceipt", tx))
    first, second = (str(receipt["contractAddress"]) for receipt in made)
    assert first == second
    return world.deps.chains.address(first)


async def opened(world: World, address: str, wallet: Any, chain_id: int = CHAIN_ID) -> Caller:
    """The caller behind a new session of whoever signs as `address` on a chain."""
    told = await world.ok("auth_challenge", ANONYMOUS, address=address, chain_id=chain_id)
    body = {"message": told["message"], "signature": wallet.sign_text(told["message"])}
    session = await world.ok("auth_session_open", ANONYMOUS, **body)
    now = world.clock.now()
    caller = await world.store.read(lambda uow: resolve(uow, "bearer", session["token"], now)[0])
    assert caller is not None
    return caller


async def test_who_holds_the_address_on_another_chain_is_somebody_else(two: World) -> None:
    victim, thief = two.wallet(), two.wallet()
    address = await one_address(two, victim.address, thief.address)
    owner = await opened(two, address, victim)
    agent = await two.ok("owner_agent_register", owner, name="Scout")
    made = await two.ok("owner_mandate_create", owner, budget_usdc="500")
    public_id = made["mandate"]["public_id"]
    other = await opened(two, address, thief, OTHER)
    assert other.user_id != owner.user_id
    assert (other.chain_id, owner.chain_id) == (OTHER, CHAIN_ID)
    for name, asked in [
        ("mandate_get", {"public_id": public_id}),
        ("owner_mandate_cancel", {"public_id": public_id}),
        ("owner_agent_policy_put", {"agent_id": agent["agent_id"], "accepts_mandates": True}),
        ("owner_agent_key_add", {"agent_id": agent["agent_id"]}),
    ]:
        assert await error_of(two.do(name, other, **asked)) == "not_found", name
    again = await opened(two, address, victim)
    assert again.user_id == owner.user_id


async def test_mandates_of_a_contract_live_on_its_chain(two: World) -> None:
    wallet = two.wallet()
    address = await one_address(two, wallet.address, wallet.address)
    owner = await opened(two, address, wallet, OTHER)
    made = await two.ok("owner_mandate_create", owner, budget_usdc="500")
    assert made["mandate"]["chain_id"] == OTHER
    public_id = made["mandate"]["public_id"]
    note = await two.ok("mandate_draft", owner, note="Budget 500 USDC.", save=True)
    assert note["draft"]["chain_id"] == OTHER
    elsewhere: dict[str, Any] = {"budget_usdc": "500", "chain_id": CHAIN_ID}
    agent = await two.ok("owner_agent_register", owner, name="Scout")
    proposer = Caller("agent", agent["agent_id"], owner.user_id, None, "Scout")
    for name, caller, asked in [
        ("owner_mandate_create", owner, elsewhere),
        ("owner_mandate_correct", owner, elsewhere | {"public_id": public_id}),
        ("mandate_propose", proposer, elsewhere),
    ]:
        refused = await two.do(name, caller, **asked)
        assert refused.body["error"] == "invalid_request", name
        assert refused.body["detail"]["fields"][0]["loc"] == "chain_id"
    proposed = await two.ok("mandate_propose", proposer, budget_usdc="500")
    assert proposed["mandate"]["chain_id"] == OTHER


async def test_a_key_that_signs_itself_is_one_person_on_every_chain(two: World) -> None:
    wallet = two.wallet()
    here, there = [await opened(two, wallet.address, wallet, c) for c in (CHAIN_ID, OTHER)]
    assert here.user_id == there.user_id
    assert here.chain_id is None
    for chain_id in (CHAIN_ID, OTHER):
        made = await two.ok("owner_mandate_create", here, budget_usdc="5", chain_id=chain_id)
        assert made["mandate"]["chain_id"] == chain_id


async def kept(world: World, caller: Caller) -> tuple[str, int | None]:
    """How the text of a caller's session was signed."""
    digest, now = caller.credential or "", world.clock.now()
    live = await world.store.read(lambda uow: uow.identities.session(digest, now))
    assert live is not None
    return live.signer_type, live.chain_id


async def test_a_session_keeps_how_it_was_signed(two: World) -> None:
    wallet = two.wallet()
    address = await one_address(two, wallet.address, wallet.address)
    for account, signer, chain_id in [(address, "erc1271", OTHER), (wallet.address, "eoa", None)]:
        caller = await opened(two, account, wallet, OTHER)
        told = await two.ok("auth_session_read", caller)
        assert told["user"] == {"address": account, "chain_id": chain_id}
        assert await kept(two, caller) == (signer, chain_id)


async def undecided(world: World, address: str, *, drafts_on: int | None) -> User:
    """A person of before signer types were kept."""
    now = world.clock.now()
    person = await world.store.write(
        lambda uow: uow.identities.person(address, new_id="u_before", now=now)
    )
    caller = Caller("owner", person.user_id, person.user_id, person.address)
    if drafts_on is not None:
        await world.ok("owner_mandate_create", caller, budget_usdc="5", chain_id=drafts_on)

    def forget(uow: Any) -> None:
        uow.sql.run("UPDATE users SET account = NULL WHERE user_id = :id", id=person.user_id)

    await world.store.write(forget)
    return person


@pytest.mark.parametrize(
    ("drafts_on", "comes_on", "same"),
    [
        (OTHER, OTHER, True),
        (OTHER, CHAIN_ID, False),
        (None, CHAIN_ID, True),  # the service's own chain
        (None, OTHER, False),
    ],
)
async def test_an_older_person_is_a_contract_of_the_chain_of_its_first_mandate(
    two: World, drafts_on: int | None, comes_on: int, *, same: bool
) -> None:
    wallet = two.wallet()
    address = await one_address(two, wallet.address, wallet.address)
    before = await undecided(two, address, drafts_on=drafts_on)
    found = await opened(two, address, wallet, comes_on)
    assert (found.user_id == before.user_id) is same
    other = await opened(two, address, wallet, CHAIN_ID if comes_on == OTHER else OTHER)
    assert other.user_id != found.user_id


async def test_an_older_person_whose_key_signs_is_that_key(two: World) -> None:
    wallet = two.wallet()
    before = await undecided(two, wallet.address, drafts_on=OTHER)
    assert (await opened(two, wallet.address, wallet)).user_id == before.user_id
    assert (await opened(two, wallet.address, wallet, OTHER)).user_id == before.user_id
