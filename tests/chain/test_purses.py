"""Purses: what is computed without a node is what the contracts say."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from eth_abi import decode
from eth_utils import keccak

from chain.contracts import abi_codec, purse
from domain.mandates.purse_entries import SELECTORS
from domain.mandates.purses import BillTerms, PurseTerms, TokenDomain
from domain.mandates.targets import Target
from domain.money import Usdc
from tests.tools.paying import funded, hub_of, paying
from tests.world import CHAIN_ID, Evm, Mandated, World, a_world

pytestmark = pytest.mark.anyio
USDC = TokenDomain(name="USDC", version="2")
YES, NO = "0x1626ba7e", "0xffffffff"
PAYEES = tuple(f"0x{n:040x}" for n in (0xA1, 0xB2, 0xC3, 0xD4, 0xE5))


@pytest.fixture
async def world(sqlite_url: str, evm: Evm) -> AsyncIterator[World]:
    async with a_world(sqlite_url, evm, purses=True) as opened:
        yield opened


def _asked(
    world: World, contract: str, at: str, function: str, *args: object
) -> tuple[object, ...]:
    raw = world.evm.chain.call({"to": at, "data": abi_codec.calldata(contract, function, args)})
    return abi_codec.outputs(contract, function, raw)


async def _purse(m: Mandated) -> tuple[str, PurseTerms]:
    """The purse of a mandate, as it is computed."""
    kept = await m.world.store.read(lambda uow: uow.mandates.get(m.id))
    assert kept is not None
    assert kept.signed is not None
    terms = next(t.purse for t in kept.allowed_targets if t.purse)
    chain = m.world.chains.get(CHAIN_ID)
    message = kept.signed.message
    digest = chain.digest(_typed(kept.signed))
    keeps = bool(kept.approvals_on_chain)
    return chain.purse_address(message, m.vault, digest, terms, keeps_approvals=keeps), terms


def _typed(signed: object) -> dict[str, object]:
    from domain.mandates.terms import typed_data

    return typed_data(signed.message, "2", signed.chain_id, signed.verifying_contract)  # type: ignore[attr-defined]


def _bill(world: World, pay_to: str, amount: str = "0.25", *, epoch: int = 0) -> BillTerms:
    now = int(world.clock.now().timestamp())
    nonce = purse.bill_nonce(epoch, "https://data.example/report", pay_to, "0x" + "07" * 32)
    return BillTerms(
        pay_to=pay_to, amount=Usdc.parse(amount), valid_after=now - 60, valid_before=now + 600,
        nonce=nonce,
    )  # fmt: skip


def _answer(m: Mandated, at: str, bill: BillTerms, **more: object) -> str:
    """What the purse says of a bill that the agent signed."""
    chain = m.world.chains.get(CHAIN_ID)
    document = chain.bill_typed_data(at, USDC, bill)
    signature = chain.bill_signature(bill, m.agent_wallet.sign_typed(document), **more)  # type: ignore[arg-type]
    digest = bytes.fromhex(chain.digest(document)[2:])
    (said,) = _asked(m.world, "Purse", at, "isValidSignature", digest, signature)
    return "0x" + bytes(said).hex()  # type: ignore[arg-type]


def test_the_selectors_are_those_of_the_hub() -> None:
    named = {"fund": "fund(uint256)", "drain": "drain()"}
    assert dict(SELECTORS) == {"0x" + keccak(text=text)[:4].hex(): n for n, text in named.items()}


async def test_the_plain_purse_is_where_the_hub_makes_it_and_takes_the_agents_bill(
    world: World,
) -> None:
    m = await paying(world)
    at, _ = await _purse(m)
    assert _asked(world, "PurseHub", await hub_of(m), "purseOf", m.vault) == (True, at.lower())
    assert _answer(m, at, _bill(world, PAYEES[0])) == YES
    assert _answer(m, at, _bill(world, m.vault)) == NO
    assert _answer(m, at, _bill(world, PAYEES[0], epoch=1)) == NO
    assert _answer(m, at, _bill(world, PAYEES[0], "100.000001")) == NO


async def test_a_purse_with_limits_is_where_its_deployer_makes_it(world: World) -> None:
    limits = {"per_payment_usdc": "1", "per_day_usdc": "30", "float_usdc": "20"}
    m = await paying(world, fund=None, purse=limits | {"payees": list(PAYEES)})
    at, terms = await _purse(m)
    chain = world.chains.get(CHAIN_ID)
    deployer = chain.facts.purse_deployer or ""
    assert _asked(world, "PurseHubDeployer", deployer, "hubOf", purse.policy(terms)) == (
        terms.hub.lower(),
    )
    await funded(m, "20")
    assert _asked(world, "PurseHub", terms.hub, "purseOf", m.vault) == (True, at.lower())
    for payee in PAYEES:
        assert _answer(m, at, _bill(world, payee), payees=PAYEES) == YES
    assert _answer(m, at, _bill(world, PAYEES[0])) == NO
    assert _answer(m, at, _bill(world, PAYEES[0], "1.000001"), payees=PAYEES) == NO


@pytest.mark.parametrize("many", range(1, 12))
def test_every_payee_of_a_list_is_proven_and_nobody_else(many: int) -> None:
    payees = [f"0x{n * 7919:040x}" for n in range(1, many + 1)]
    root = purse.payees_root(payees)
    for payee in payees:
        node = keccak(keccak(bytes(12) + bytes.fromhex(payee[2:])))
        for other in purse.payee_proof(payees, payee):
            node = keccak(min(node, other) + max(node, other))
        assert node == root
    with pytest.raises(ValueError, match="not in list"):
        purse.payee_proof(payees, "0x" + "99" * 20)


async def test_a_bill_above_the_approval_amount_is_taken_with_the_owners_signature(
    sqlite_url: str, evm: Evm
) -> None:
    async with a_world(sqlite_url, evm, purses=True, approvals_on_chain=True) as world:
        m = await paying(world, fund="10", approval_above_usdc="10")
        await funded(m, "10")
        at, _ = await _purse(m)
        chain, bill = world.chains.get(CHAIN_ID), _bill(world, PAYEES[0], "15")
        assert _answer(m, at, bill) == NO
        kept = await world.store.read(lambda uow: uow.mandates.get(m.id))
        assert kept is not None
        assert kept.signed is not None
        until = int(world.clock.now().timestamp()) + 60
        digest = chain.digest(_typed(kept.signed))
        action = chain.bill_action(at, bill)
        asked = chain.approve_action(kept.signed.verifying_contract, digest, action, until)
        for wallet, said in ((m.owner_wallet, YES), (m.agent_wallet, NO)):
            signature = chain.on_chain_form(wallet.sign_typed(asked))
            assert _answer(m, at, bill, until=until, approval=signature) == said


async def test_the_separator_is_the_tokens_own(world: World) -> None:
    chain = world.chains.get(CHAIN_ID)
    (own,) = decode(
        ["bytes32"],
        world.evm.chain.call(
            {"to": world.evm.usdc, "data": abi_codec.calldata("TestUSDC", "DOMAIN_SEPARATOR", ())}
        ),
    )
    assert chain.token_separator(USDC) == "0x" + own.hex()
    assert chain.token_separator(TokenDomain(name="USD Coin", version="2")) != "0x" + own.hex()


def test_entries_without_a_purse_are_signed_as_ever() -> None:
    entry = Target("x402", hosts=("api.example.com",))
    assert entry.as_json() == {"kind": "x402", "hosts": ["api.example.com"]}
    whole = Target("x402", purse=PurseTerms(per_day_usdc=Usdc(5), payees=PAYEES, hub=PAYEES[0]))
    assert Target.from_json(whole.as_json()) == whole
