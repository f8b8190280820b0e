"""Creating a vault: what the terms must say, who may ask, and where it ends up."""

from __future__ import annotations

import re
from typing import Any

import pytest
from eth_abi import encode
from eth_account import Account
from eth_account.messages import encode_typed_data
from eth_utils import keccak, to_checksum_address

from chain.contracts import eip712, signatures
from tests.contracts.harness import (
    CALLS,
    DAY,
    DEPOSIT,
    MAX_WITHDRAW,
    PROBES,
    REDEEM,
    ROOT,
    USD,
    WORTH_OF,
    ZERO,
    Contract,
    World,
    artifact,
    refused,
    selector,
)

SECP256K1_N = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


def wire(t: dict[str, Any]) -> dict[str, Any]:
    """The terms as the service sends them: numbers as decimal strings, bytes as 0x hex."""
    shown = {bytes: lambda v: "0x" + v.hex(), int: str, str: str}
    return {name: shown[type(v)](v) for name, v in t.items()}


# -- the address and the digest ---------------------------------------------------------------------------------


def test_the_vault_is_where_predict_says_and_its_event_tells_everything(world: World) -> None:
    t = world.terms()
    calls, probes = world.calls(), world.probes()
    expected = world.factory.read("predict", tuple(t.values()), calls, probes)
    event = world.factory.send(world.owner, "create", *world.create_data(t)).one("MandateCreated")
    assert event == {
        "publicIdHash": keccak(text=t["publicId"]),
        "owner": world.owner,
        "vault": to_checksum_address(expected),
        "agent": world.agent,
        "digest": world.factory.read("digestOf", tuple(t.values())),
        "publicId": t["publicId"],
    }


def test_the_vault_keeps_the_terms_in_its_bytecode(world: World) -> None:
    t = world.terms(onFloor=0)
    vault = world.create(t)
    config, calls, probes = vault.read("terms")
    digest = world.factory.read("digestOf", tuple(t.values()))
    people = world.owner.lower(), world.agent.lower()
    caps = t["budgetUsdc"], t["perTxCap"], t["dailyCap"]
    rules = t["stopFloorBps"], t["endsAt"], t["agentFeeBps"], t["onFloor"]
    assert config == (*people, *caps, *rules, digest, t["approvalAbove"])
    assert [(to_checksum_address(a), s, m) for a, s, m in calls] == world.calls()
    assert [(to_checksum_address(a), s) for a, s in probes] == world.probes()
    assert vault.read("owner") == world.owner
    assert vault.read("agent") == world.agent


def test_solidity_eth_account_and_the_service_give_one_digest(world: World) -> None:
    t = world.terms(publicId="m_ünïcode∑", agent=ZERO, approvalAbove=2**255, nonce=2**256 - 1)
    signable = encode_typed_data(full_message=world.typed_data(t))
    by_account = keccak(b"\x19" + signable.version + signable.header + signable.body)
    assert world.factory.read("digestOf", tuple(t.values())) == by_account
    assert eip712.digest(world.typed_data(wire(t))) == "0x" + by_account.hex()


def test_solidity_and_eth_abi_give_one_targets_hash(world: World) -> None:
    calls, probes = world.calls(), world.probes()
    told = world.factory.read("targetsHashOf", calls, probes)
    assert told == keccak(encode([CALLS, PROBES], [calls, probes]))


def test_creating_twice_gives_the_same_vault_and_one_event(world: World) -> None:
    t = world.terms()
    vault = world.create(t)
    for at in (world.evm.time, t["endsAt"]):  # after the end it is still found
        world.evm.time = at
        again = world.factory.send(world.owner, "create", *world.create_data(t))
        assert again.events == ()
        assert world.factory.read("create", *world.create_data(t), by=world.owner) == vault.address


@pytest.mark.parametrize(
    "name", ["agent", "perTxCap", "nonce", "guardTargetsHash", "approvalAbove"]
)
def test_other_terms_are_another_address(world: World, name: str) -> None:
    t = world.terms()
    other = t | {name: {"agent": world.stranger, "guardTargetsHash": b"\1" * 32}.get(name, 12_345)}
    one, two = (
        world.factory.read("predict", tuple(x.values()), world.calls(), world.probes())
        for x in (t, other)
    )
    assert one != two


# -- what the terms must say ------------------------------------------------------------------------------------

BAD = [
    ("owner", {"owner": ZERO}),
    ("budgetUsdc", {"budgetUsdc": 0, "stopFloor": 0}),
    ("budgetUsdc", {"budgetUsdc": 2**128, "stopFloor": 0}),
    ("caps", {"perTxCap": 0}),
    ("caps", {"perTxCap": 501 * USD}),
    ("caps", {"dailyCap": 1_001 * USD}),
    ("stopFloorBps", {"stopFloorBps": 10_001, "stopFloor": 0}),
    ("stopFloor", {"stopFloor": 800 * USD - 1}),
    ("stopFloor", {"stopFloor": 800 * USD + 1}),
    ("horizonDays", {"horizonDays": 0}),
    ("horizonDays", {"horizonDays": 367}),
    ("endsAt", {"endsAt": 1}),
    ("agentFeeBps", {"agentFeeBps": 3_001}),
    ("onFloor", {"onFloor": 2}),
    ("allowedTargetsHash", {"allowedTargetsHash": b"\0" * 32}),
]


@pytest.mark.parametrize(("what", "over"), BAD, ids=[f"{w}-{i}" for i, (w, _) in enumerate(BAD)])
def test_terms_that_contradict_themselves_are_refused(
    world: World, what: str, over: dict[str, Any]
) -> None:
    t = world.terms(**over)
    with refused("BadTerms", what):
        world.factory.send(world.stranger, "create", *world.create_data(t, signature=b""))


@pytest.mark.parametrize(
    "over",
    [
        {"agentFeeBps": 3_000},
        {"horizonDays": 366},
        {"dailyCap": 1_000 * USD, "perTxCap": 1_000 * USD},
        {"stopFloorBps": 0},
        {"stopFloorBps": 10_000},
        {"budgetUsdc": 2**128 - 1},
    ],
)
def test_terms_at_the_limits_are_taken(world: World, over: dict[str, Any]) -> None:
    assert world.create(world.terms(**over)).read("cash") == 0


def test_terms_from_the_future_or_already_over_are_refused(world: World) -> None:
    for shift, what in ((3_601, "issuedAt"), (-30 * DAY, "endsAt")):
        with refused("BadTerms", what):
            world.create(world.terms(issuedAt=world.evm.time + shift))
    assert world.create(world.terms(issuedAt=world.evm.time + 3_600)).address
    assert world.create(world.terms(issuedAt=world.evm.time - 30 * DAY + 1)).address


REFUSED = (
    "transfer(address,uint256)", "transferFrom(address,address,uint256)", "burn(uint256)",
    "burn(address,uint256)", "burnFrom(address,uint256)", "approve(address,uint256)",
    "increaseAllowance(address,uint256)", "decreaseAllowance(address,uint256)",
    "increaseApproval(address,uint256)", "decreaseApproval(address,uint256)",
    "permit(address,address,uint256,uint256,uint8,bytes32,bytes32)",
    "permit(address,address,uint256,uint256,bytes)",
    "permit(address,address,uint256,uint256,bool,uint8,bytes32,bytes32)",
    "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)",
    "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)",
    "receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)",
    "receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)",
    "cancelAuthorization(address,bytes32,uint8,bytes32,bytes32)",
    "cancelAuthorization(address,bytes32,bytes)", "transferAndCall(address,uint256)",
    "transferAndCall(address,uint256,bytes)", "transferFromAndCall(address,address,uint256)",
    "transferFromAndCall(address,address,uint256,bytes)", "approveAndCall(address,uint256)",
    "approveAndCall(address,uint256,bytes)", "send(address,uint256,bytes)",
    "operatorSend(address,address,uint256,bytes,bytes)", "authorizeOperator(address)",
    "burn(uint256,bytes)", "operatorBurn(address,uint256,bytes,bytes)",
    "safeTransferFrom(address,address,uint256)", "safeTransferFrom(address,address,uint256,bytes)",
    "setApprovalForAll(address,bool)", "safeTransferFrom(address,address,uint256,uint256,bytes)",
    "safeBatchTransferFrom(address,address,uint256[],uint256[],bytes)",
    "transfer(address,uint256,uint256)", "transferFrom(address,address,uint256,uint256)",
    "approve(address,uint256,uint256)", "setOperator(address,bool)",
    "approve(address,address,uint160,uint48)",
    "permit(address,((address,uint160,uint48,uint48),address,uint256),bytes)",
    "permit(address,((address,uint160,uint48,uint48)[],address,uint256),bytes)",
    "transferFrom(address,address,uint160,address)",
    "transferFrom((address,address,uint160,address)[])",
    "permitTransferFrom(((address,uint256),uint256,uint256),(address,uint256),address,bytes)",
    "permitTransferFrom(((address,uint256)[],uint256,uint256),(address,uint256)[],address,bytes)",
    "permitWitnessTransferFrom(((address,uint256),uint256,uint256),(address,uint256),address,bytes32,string,bytes)",
    "permitWitnessTransferFrom(((address,uint256)[],uint256,uint256),(address,uint256)[],address,bytes32,string,bytes)",
    "approveDelegation(address,uint256)",
    "delegationWithSig(address,address,uint256,uint256,uint8,bytes32,bytes32)",
    "allow(address,bool)", "allowBySig(address,address,bool,uint256,uint256,uint8,bytes32,bytes32)",
    "setAuthorization(address,bool)",
    "setAuthorizationWithSig((address,address,bool,uint256,uint256),(uint8,bytes32,bytes32))",
    "setRelayerApproval(address,address,bool)", "hope(address)", "delegate(address)",
    "transferOwnership(address)", "setOwner(address)", "multicall(bytes[])",
    "multicall(uint256,bytes[])", "multicall(bytes32,bytes[])", "batch(bytes[],bool)",
    "aggregate((address,bytes)[])", "tryAggregate(bool,(address,bytes)[])",
    "blockAndAggregate((address,bytes)[])", "tryBlockAndAggregate(bool,(address,bytes)[])",
    "aggregate3((address,bool,bytes)[])", "aggregate3Value((address,bool,uint256,bytes)[])",
    "call(address,address,uint256,bytes)", "batch((address,address,uint256,bytes)[])",
    "setAccountOperator(address,address,bool)", "setOperator(bytes19,address,uint256)",
    "controlCollateral(address,address,uint256,bytes)",
    "permit(address,address,uint256,uint256,uint256,uint256,bytes)",
    "execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)",
    "execTransactionFromModule(address,uint256,bytes,uint8)",
    "execTransactionFromModuleReturnData(address,uint256,bytes,uint8)", "enableModule(address)",
    "multiSend(bytes)", "execute(address,uint256,bytes)", "executeBatch(address[],bytes[])",
    "executeBatch(address[],uint256[],bytes[])", "executeBatch((address,uint256,bytes)[])",
    "execute(address,uint256,bytes,uint8)", "execute(bytes32,bytes)",
    "executeFromExecutor(bytes32,bytes)", "execute(address,bytes)", "exec(address,bytes)",
    "execute(bytes,bytes[],uint256)", "execute(bytes,bytes[])", "flashLoan(address,uint256,bytes)",
    "flashLoan(address,address,uint256,bytes)", "flashLoan(address,address[],uint256[],bytes)",
    "flashLoanSimple(address,address,uint256,bytes,uint16)",
)  # fmt: skip


def refuse_call(world: World, target: str, what: bytes) -> None:
    calls = [(world.market.address, REDEEM, 0b110), (target, what, 0)]
    t = world.terms(calls, [])
    with refused("BadTarget", target, what):
        world.factory.read("create", *world.create_data(t, calls, []), by=world.owner)


def test_token_moves_rights_and_batches_are_never_listed(world: World) -> None:
    for signature in REFUSED:
        refuse_call(world, world.market.address, selector(signature))


def test_the_refused_functions_are_the_ones_that_their_comments_name() -> None:
    source = (ROOT / "contracts" / "src" / "RefusedCalls.sol").read_text()
    told = dict(re.findall(r"s == (0x[0-9a-f]{8});? // (\S+)", source))
    assert told == {"0x" + selector(signature).hex(): signature for signature in REFUSED}
    assert len(told) == len(REFUSED) == source.count("s == 0x")


def test_usdc_the_factory_the_implementation_and_empty_accounts_are_never_listed(
    world: World,
) -> None:
    implementation = world.factory.read("IMPLEMENTATION")
    for target in (world.usdc.address, world.factory.address, implementation, world.stranger):
        refuse_call(world, target, DEPOSIT)


def test_a_probe_of_usdc_of_an_empty_account_or_twice_of_one_target_is_refused(
    world: World,
) -> None:
    balance_of = selector("balanceOf(address)")
    for target in (world.usdc.address, world.stranger, world.market.address):
        probes = [(world.market.address, MAX_WITHDRAW), (target, balance_of)]
        with refused("BadTarget", target, balance_of):
            world.create(world.terms(probes=probes), probes=probes)


def test_the_lists_are_bounded(world: World) -> None:
    calls = [(world.market.address, DEPOSIT, 2)] * 25
    with refused("BadTerms", "allowedTargets"):
        world.create(world.terms(calls, []), calls, [])
    assert world.create(world.terms(calls[:24], []), calls[:24], []).address


def test_eight_probes_are_taken_and_a_ninth_is_refused(world: World) -> None:
    targets = [world.evm.deploy("HostileTarget", world.usdc.address).address for _ in range(9)]
    probes = [(t, WORTH_OF) for t in targets]
    with refused("BadTerms", "allowedTargets"):
        world.create(world.terms([], probes), [], probes)
    assert world.create(world.terms([], probes[:8]), [], probes[:8]).read("worth")[3] == (True,) * 8


def funded_ahead(world: World) -> tuple[dict[str, Any], Contract]:
    """Terms whose vault was never made, and 100 that lie at its address."""
    t = world.terms()
    where = world.factory.read("predict", tuple(t.values()), world.calls(), world.probes())
    world.usdc.send(world.owner, "transfer", where, 100 * USD)
    return t, world.evm.at("MandateVault", to_checksum_address(where))


def test_after_the_end_a_vault_that_was_funded_ahead_is_made_and_only_withdrawn(
    world: World,
) -> None:
    t, vault = funded_ahead(world)
    world.evm.time = t["endsAt"] + 400 * DAY
    assert create_signed(world, t, world.sign(t)) == vault.address
    for by, *call in (
        (world.owner, "deposit", 1), (world.owner, "sync"), (world.owner, "setAgent", world.agent),
        (world.agent, "execute", world.market.address, b"", 0),
    ):  # fmt: skip
        with refused("MandateEnded", t["endsAt"]):
            vault.send(by, *call)
    told = vault.send(world.owner, "withdrawAll")
    assert (told.one("Settled")["agentFee"], told.one("Withdrawn")["amount"]) == (0, 100 * USD)


def test_after_the_end_an_address_without_money_gets_no_vault(world: World) -> None:
    t = world.terms()
    world.evm.time = t["endsAt"]
    with refused("BadTerms", "endsAt"):
        world.create(t)


def test_a_factory_needs_a_token_that_exists(world: World) -> None:
    with refused("BadTerms", "usdc"):
        world.evm.deploy("MandateVaultFactory", world.stranger, world.keeper, False)


# -- who may ask ------------------------------------------------------------------------------------------------


def create_signed(world: World, t: dict[str, Any], signature: bytes) -> str:
    made = world.factory.send(world.stranger, "create", *world.create_data(t, signature=signature))
    return str(made.one("MandateCreated")["vault"])


def test_anybody_may_bring_the_owners_signature(world: World) -> None:
    t = world.terms()
    expected = world.factory.read("predict", tuple(t.values()), world.calls(), world.probes())
    assert create_signed(world, t, world.sign(t)) == expected


@pytest.mark.parametrize("length", [0, 1, 63, 64, 66])
def test_a_stranger_without_a_whole_signature_is_refused(world: World, length: int) -> None:
    t = world.terms()
    with refused("BadSignature"):
        create_signed(world, t, (world.sign(t) + b"\0")[:length])


def test_threat_high_s_twin_and_64_byte_signature(world: World) -> None:
    t = world.terms()
    signature = world.sign(t)
    r, s, v = signature[:32], int.from_bytes(signature[32:64], "big"), signature[64]
    twin = r + (SECP256K1_N - s).to_bytes(32, "big") + bytes([55 - v])
    short = r + (s | (v - 27) << 255).to_bytes(32, "big")
    flipped = signature[:64] + bytes([55 - v])
    for bad in (twin, short, flipped, signature[:64] + bytes([v - 27])):
        with refused("BadSignature"):
            create_signed(world, t, bad)
    assert signatures.recover(world.factory.read("digestOf", tuple(t.values())), twin) is None
    assert create_signed(world, t, bytes.fromhex(signatures.on_chain_form("0x" + short.hex())[2:]))


def test_threat_signature_replay_across_chains_factories_and_terms(world: World) -> None:
    t = world.terms()
    other = world.evm.deploy("MandateVaultFactory", world.usdc.address, world.keeper, False)
    for foreign in (
        world.sign(t, chainId=8453),
        world.sign(t, verifyingContract=other.address),
        world.sign(t, version="1"),
        world.sign(t | {"dailyCap": 600 * USD}),
        world.sign(t, by=world.agent),
    ):
        with refused("BadSignature"):
            create_signed(world, t, foreign)


def test_threat_front_run_create_only_makes_the_owners_own_vault(world: World) -> None:
    t = world.terms()
    vault = world.evm.at("MandateVault", create_signed(world, t, world.sign(t)))
    assert world.factory.send(world.owner, "create", *world.create_data(t)).events == ()
    world.deposit(vault, 100 * USD)
    assert vault.read("owner") == world.owner
    with refused("NotOwner", world.stranger):
        vault.send(world.stranger, "withdrawAll")


def test_threat_front_run_create_with_other_lists_is_refused(world: World) -> None:
    t = world.terms()
    mine = [*world.calls(), (world.hostile.address, selector("anything()"), 0)]
    with refused("BadTerms", "allowedTargetsHash"):
        world.factory.send(
            world.stranger, "create", *world.create_data(t, calls=mine, signature=world.sign(t))
        )


def wallet(world: World) -> Contract:
    return world.evm.deploy("TestWallet", world.owner)


def test_threat_owner_is_a_contract_wallet(world: World) -> None:
    owner = wallet(world)
    t = world.terms(owner=owner.address)
    with refused("BadSignature"):
        create_signed(world, t, world.sign(t, by=world.stranger))
    vault = world.evm.at("MandateVault", create_signed(world, t, world.sign(t)))
    world.usdc.send(world.owner, "transfer", owner.address, 100 * USD)
    world.usdc.send(world.owner, "transfer", vault.address, 50 * USD)

    def run(target: Contract, function: str, *args: Any) -> None:
        owner.send(world.owner, "run", target.address, target.data(function, *args))

    run(world.usdc, "approve", vault.address, 100 * USD)
    run(vault, "deposit", 100 * USD)
    run(vault, "sync")
    run(vault, "withdrawAll")
    assert world.balance(owner) == 150 * USD


def test_threat_owner_is_a_contract_wallet_that_creates_by_itself(world: World) -> None:
    owner = wallet(world)
    t = world.terms(owner=owner.address)
    creation = world.factory.data("create", *world.create_data(t))
    made = owner.send(world.owner, "run", world.factory.address, creation)
    assert made.one("MandateCreated")["owner"] == owner.address


def test_threat_owner_with_eip_7702_code_signs_with_its_own_key(world: World) -> None:
    foreign = world.evm.deploy("TestWallet", world.stranger)  # its answer is not the owner's
    authorization = {"chainId": 31337, "address": foreign.address}
    authorization["nonce"] = world.evm.nonce(world.owner)
    signed = Account.sign_authorization(authorization, world.evm.keys[world.owner])
    world.evm.send(world.stranger, world.stranger, b"", authorizations=[signed])
    assert world.evm.code(world.owner).hex() == "ef0100" + foreign.address[2:].lower()
    t = world.terms()
    vault = world.evm.at("MandateVault", create_signed(world, t, world.sign(t)))
    world.deposit(vault, 10 * USD)
    assert vault.send(world.owner, "withdrawAll").one("Withdrawn")["amount"] == 10 * USD


# -- ERC-1271 and ERC-6492 by the question that deploys nothing --------------------------------------------------


def ask(world: World, digest: bytes, signature: bytes, signer: str) -> bytes:
    found = signatures.question(digest, signature, signer)
    assert found is not None
    return world.evm.call(ZERO, None, bytes.fromhex(found.data[2:]))


def test_sig_check_asks_a_deployed_wallet(world: World) -> None:
    owner, t = wallet(world), world.terms()
    digest = world.factory.read("digestOf", tuple(t.values()))
    assert ask(world, digest, world.sign(t), owner.address) == b"\1"
    assert ask(world, digest, world.sign(t, by=world.agent), owner.address) == b"\0"
    assert ask(world, digest, world.sign(t), world.stranger) == b"\0"


def test_sig_check_asks_a_wallet_before_it_exists_and_deploys_nothing(world: World) -> None:
    maker = world.evm.deploy("TestWalletFactory")
    future = maker.read("predict", world.owner, b"\7" * 32)
    t = world.terms(owner=future)
    digest = world.factory.read("digestOf", tuple(t.values()))
    make = maker.data("create", world.owner, b"\7" * 32)
    for by, answer in ((world.owner, b"\1"), (world.agent, b"\0")):
        wrapped = encode(
            ["address", "bytes", "bytes"], [maker.address, make, world.sign(t, by=by)]
        ) + bytes.fromhex("6492" * 16)
        assert ask(world, digest, wrapped, future) == answer
    assert world.evm.code(future) == b""
    assert len(artifact("SigCheck")["bytecode"]) > 2
