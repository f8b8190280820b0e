"""`wallet mcp --url --agent-key-file`: an agent acts with a key that the service never sees."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import keyring
import pytest
from eth_account import Account
from keyring.backends import fail
from keyrings.alt.file import PlaintextKeyring
from mcp import Client, StdioServerParameters

from chain.contracts import eip712, signatures, transactions
from domain.chain_facts import SignedTransaction
from domain.money import Usdc
from server.mcp_api import local_signer
from server.mcp_api.local_signer import (
    KEYRING_SERVICE,
    LocalKey,
    LocalSigner,
    NotSigned,
    UnusableKey,
    _check_bill,
    key_of_file,
    key_of_keyring,
)
from tests.surfaces.conftest import running
from tests.tools.paying import paying, required, settled
from tests.waiting import STUCK_S
from tests.world import CHAIN_ID, Evm, Mandated, a_world, config_of, working
from tools.actions import act

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
CURVE_ORDER = 0xFFFFFFFF_FFFFFFFF_FFFFFFFF_FFFFFFFE_BAAEDCE6_AF48A03B_BFD25E8C_D0364141
ENTER = {"kind": "enter", "market": "test-market", "amount_usdc": "40"}


class Local:
    """A funded mandate, a service on a port, and the agent's key in a file of its own."""

    def __init__(self, m: Mandated, base: str, key: str, file: Path):
        self.m, self.base, self.key, self.file = m, base, key, file

    def signer(self) -> LocalSigner:
        return LocalSigner(key_of_file(self.file), f"{self.base}/mcp", self.key, 60)

    async def act(self, name: str, **action: Any) -> Any:
        signer = self.signer()
        asked = {"public_id": self.m.id, "action": action or ENTER, "idempotency_key": name}
        try:
            return (await signer.act(asked)).body
        finally:
            await signer.close()

    async def sent(self) -> int:
        chain = self.m.world.chains.get(CHAIN_ID)
        return (await chain.sending_facts(self.m.agent_wallet.address)).nonce


@pytest.fixture
async def local(sqlite_url: str, evm: Evm, tmp_path: Path) -> AsyncIterator[Local]:
    async with running(sqlite_url, evm, markets=config_of(evm).markets) as service:
        world = service.world
        m = await working(world, approval_above_usdc="50")
        key = await world.ok("owner_agent_key_add", m.owner, agent_id=m.agent.user_id)
        file, own = tmp_path / "agent.key", m.agent_wallet.address
        (secret,) = (k for k in evm.chain.keys if Account.from_key(bytes(k)).address == own)
        file.write_text("0x" + bytes(secret).hex())
        file.chmod(0o600)
        yield Local(m, service.base, key["key"], file)


async def test_an_official_client_acts_with_the_key_of_the_file(local: Local) -> None:
    env = {"PATH": os.defpath, "PYTHONPATH": str(Path(__file__).parents[2])}
    where = StdioServerParameters(
        command=sys.executable,
        args=["-m", "server", "mcp", "--url", local.base, "--agent-key-file", str(local.file)],
        env=env | {"WALLET_SERVICE_USER_KEY": local.key},
        cwd=local.file.parent,
    )
    asked = {"public_id": local.m.id, "action": ENTER, "why": "go", "idempotency_key": "in-1"}
    for mode in ("auto", "legacy"):
        with anyio.fail_after(STUCK_S):
            async with Client(where, mode=mode) as client:
                assert "mandate_act" in {t.name for t in (await client.list_tools()).tools}
                told: Any = (await client.call_tool("mandate_act", asked)).structured_content
                assert (told["outcome"], told["event"]["kind"]) == ("landed", "buy"), told
                again = await client.call_tool("mandate_act", asked)
                assert again.structured_content == told
                assert (again.meta or {})["wallet/replayed"] is True
                refused = await client.call_tool(
                    "mandate_act", asked | {"action": ENTER | {"amount_usdc": "101"}}
                )
                assert refused.is_error
                block: Any = refused.structured_content
                assert block["refusal"]["error"] == "idempotency_key_reused"
    assert await local.sent() == 1
    kept = local.file.with_name("agent.key.vaults")
    assert {f.stat().st_mode & 0o077 for f in [kept, *kept.iterdir()]} == {0}


async def test_the_file_signs_the_stop_by_which_a_mandate_is_given_back(
    local: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = LocalSigner._prepared

    async def altered(self: LocalSigner, path: str, body: Any) -> Any:
        answer: Any = await real(self, path, body)
        answer.body["to_sign"]["data"] += "00"
        return answer

    with monkeypatch.context() as broken:
        broken.setattr(LocalSigner, "_prepared", altered)
        assert (await local.act("end-1", kind="forfeit"))["error"] == "signer_refused"
    assert await local.sent() == 0
    assert (await local.act("end-1", kind="forfeit"))["outcome"] == "landed"
    assert (await local.act("end-2", kind="forfeit"))["error"] == "mandate_stopped"


async def test_a_lost_answer_is_asked_with_the_same_bytes(
    local: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = LocalSigner._post

    async def lost(self: LocalSigner, path: str, body: Any) -> Any:
        answer = await real(self, path, body)
        if path.endswith("/send"):
            raise local_signer.httpx2.ReadError("gone")
        return answer

    with monkeypatch.context() as broken:
        broken.setattr(LocalSigner, "_post", lost)
        told = await local.act("in-1")
        assert (told["error"], told["retry_safe"]) == ("outcome_unknown", True)
    assert (await local.act("in-1"))["outcome"] == "landed"
    assert await local.sent() == 1


async def test_what_waits_for_long_is_signed_again_with_a_higher_fee_alone(
    local: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain, given = local.m.world.chains.get(CHAIN_ID), list[SignedTransaction]()

    async def swallowed(signed: SignedTransaction) -> None:
        given.append(signed)

    with monkeypatch.context() as deaf:
        deaf.setattr(act, "WAIT_MS", 300)
        deaf.setattr(chain, "broadcast", swallowed)
        assert (await local.act("in-1"))["outcome"] == "pending"
        local.m.world.clock.forward(seconds=31)
        assert (await local.act("in-1"))["outcome"] == "pending"
    assert given[-1].transaction.is_fee_bump_of(given[0].transaction)
    assert (await local.act("in-1"))["tx_hash"] == given[-1].tx_hash
    assert await local.sent() == 1


async def test_what_was_signed_and_never_arrived_is_sent_or_signed_anew(
    local: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = LocalSigner._post

    async def cut(self: LocalSigner, path: str, body: Any) -> Any:
        if path.endswith("/send"):
            raise local_signer.httpx2.ConnectError("gone")
        return await real(self, path, body)

    with monkeypatch.context() as broken:
        broken.setattr(LocalSigner, "_post", cut)
        await local.act("in-1")
        await local.act("in-2", **(ENTER | {"amount_usdc": "20"}))
    assert await local.sent() == 0
    assert (await local.act("in-1"))["outcome"] == "landed"
    # Its nonce is gone, and the chain knows no such transaction.
    assert (await local.act("in-2", **(ENTER | {"amount_usdc": "20"})))["outcome"] == "landed"
    assert await local.sent() == 2


async def test_a_held_act_is_held_and_acts_once_it_is_approved(local: Local) -> None:
    more = ENTER | {"amount_usdc": "60"}
    told = await local.act("in-1", **more)
    assert told["outcome"] == "held"
    item = {"approval_id": told["approval"]["approval_id"], "decision": "approve"}
    assert (await local.m.as_owner("owner_approval_decide", **item)).status == 200
    assert (await local.act("in-1", **more))["outcome"] == "landed"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"to": "0x" + "12" * 20}, "does not go to the mandate's vault"),
        ({"chain_id": 1}, "does not go to the mandate's vault"),
        ({"value": "1"}, "carries coins"),
        ({"gas": 6_000_000}, "out of bounds"),
        ({"data": "0xa9059cbb" + "00" * 64}, "no execute"),
    ],
)
async def test_it_signs_nothing_but_the_act_that_was_asked_for(
    local: Local, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], why: str
) -> None:
    real = LocalSigner._post

    async def hostile(self: LocalSigner, path: str, body: Any) -> Any:
        answer = await real(self, path, body)
        if path.endswith("/prepare"):
            answer.body["to_sign"].update(change)  # type: ignore[attr-defined]
        return answer

    def signs(*_: object) -> None:
        raise AssertionError("it was signed")

    monkeypatch.setattr(LocalSigner, "_post", hostile)
    monkeypatch.setattr(transactions, "sign", signs)
    told = await local.act("in-1")
    assert told["error"] == "signer_refused"
    assert why in told["reason"]


async def test_a_larger_amount_and_another_vault_later_are_not_signed(
    local: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (await local.act("in-1"))["outcome"] == "landed"
    real = LocalSigner._post

    async def larger(self: LocalSigner, path: str, body: Any) -> Any:
        return await real(self, path, body | {"action": ENTER | {"amount_usdc": "41"}})

    with monkeypatch.context() as patched:
        patched.setattr(LocalSigner, "_post", larger)
        told = await local.act("in-2")
        assert "another call" in told["reason"]
    (pinned,) = local.file.with_name("agent.key.vaults").glob("*.vault")
    pinned.write_text(json.dumps({"chain_id": CHAIN_ID, "vault": "0x" + "12" * 20}))
    assert "mandate's vault" in (await local.act("in-3"))["reason"]


async def test_a_taken_over_service_changes_no_word_of_a_markets_call(
    local: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each word of the call that the market's name stands for, but for which market it is."""
    real, chain = LocalSigner._prepared, local.m.world.chains.get(CHAIN_ID)
    market, thief = local.m.world.evm.market, local.m.owner_wallet.address
    deposit = "deposit(uint256,address)"
    calls = {
        "another receiver": chain.function_call(deposit, (Usdc.parse("40"), thief)),
        "another amount": chain.function_call(deposit, (Usdc.parse("39"), local.m.vault)),
        "another function": chain.function_call("mint(uint256,address)", (40, local.m.vault)),
        "more behind it": local.m.world.deposit_data(local.m.vault, "40") + "00",
    }
    for data in calls.values():

        async def altered(self: LocalSigner, path: str, body: Any, data: str = data) -> Any:
            answer: Any = await real(self, path, body)
            call = chain.vault_call(local.m.vault, "execute", market, data, Usdc.parse("40"))
            answer.body["to_sign"]["data"] = call.data
            return answer

        with monkeypatch.context() as taken:
            taken.setattr(LocalSigner, "_prepared", altered)
            told = await local.act("in-1")
            assert (told["error"], "this machine knows" in told["reason"]) == (
                "signer_refused",
                True,
            )
    assert await local.sent() == 0
    assert (await local.act("in-1"))["outcome"] == "landed"
    leave = {"kind": "exit", "market": "test-market", "amount_usdc": "10"}
    assert (await local.act("out-1", **leave))["outcome"] == "landed"
    rest = {"kind": "exit", "market": "test-market", "share_bps": 10_000}
    assert (await local.act("out-2", **rest))["outcome"] == "landed"


async def test_a_fee_above_the_machines_own_bound_is_not_signed(local: Local) -> None:
    signer = LocalSigner(
        key_of_file(local.file), f"{local.base}/mcp", local.key, 60, gas_most=10**9
    )
    asked = {"public_id": local.m.id, "action": ENTER, "idempotency_key": "in-1"}
    told: Any = (await signer.act(asked)).body
    await signer.close()
    assert (told["error"], "WALLET_AGENT_GAS_MOST_WEI" in told["reason"]) == (
        "signer_refused",
        True,
    )
    assert await local.sent() == 0


def test_a_key_file_is_its_owners_alone(tmp_path: Path) -> None:
    file = tmp_path / "key"
    with pytest.raises(UnusableKey, match="cannot be read"):
        key_of_file(file)
    file.write_text("11" * 32)
    file.chmod(0o640)
    with pytest.raises(UnusableKey, match="chmod 600"):
        key_of_file(file)
    file.chmod(0o600)
    file.write_text("no key")
    with pytest.raises(UnusableKey, match="no private key"):
        key_of_file(file)


@pytest.mark.parametrize("number", [0, CURVE_ORDER, 2**256 - 1])
def test_a_number_that_is_no_private_key_is_none(tmp_path: Path, number: int) -> None:
    key = LocalKey(f"{number:064x}", tmp_path / "key.sent")
    with pytest.raises(UnusableKey, match="no private key"):
        LocalSigner(key, "http://127.0.0.1/mcp", None, 1)


async def test_an_official_client_acts_with_a_key_of_the_keyring(local: Local) -> None:
    """By the library's own choice of a backend, in the command as it is started."""
    home = local.file.parent / "home"
    home.mkdir()
    env = {
        "PATH": os.defpath, "PYTHONPATH": str(Path(__file__).parents[2]), "HOME": str(home),
        "XDG_DATA_HOME": str(home), "XDG_CONFIG_HOME": str(home), "WALLET_SERVICE_USER_KEY": local.key,
        "PYTHON_KEYRING_BACKEND": "keyrings.alt.file.PlaintextKeyring",
    }  # fmt: skip
    kept = subprocess.run(
        [sys.executable, "-m", "keyring", "set", KEYRING_SERVICE, "scout"],
        input=local.file.read_text(), env=env, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert kept.returncode == 0, kept.stderr
    args = ["-m", "server", "mcp", "--url", local.base, "--agent-key-keyring", "scout"]
    where = StdioServerParameters(command=sys.executable, args=args, env=env, cwd=home)
    asked = {"public_id": local.m.id, "action": ENTER, "idempotency_key": "in-1"}
    with anyio.fail_after(STUCK_S):
        async with Client(where) as client:
            told: Any = (await client.call_tool("mandate_act", asked)).structured_content
    assert told["outcome"] == "landed", told
    assert await local.sent() == 1
    (folder,) = home.rglob("scout.vaults")
    assert {f.stat().st_mode & 0o077 for f in [folder, *folder.iterdir()]} == {0}


def test_a_keyring_without_a_good_key_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = PlaintextKeyring()
    backend.file_path = str(tmp_path / "ring.cfg")  # type: ignore[method-assign, assignment]
    before = keyring.get_keyring()
    keyring.set_keyring(backend)
    try:
        with pytest.raises(UnusableKey, match="keyring set mandate-wallet scout"):
            key_of_keyring("scout", tmp_path)
        keyring.set_password(KEYRING_SERVICE, "scout", "a word")
        with pytest.raises(UnusableKey, match="no private key"):
            key_of_keyring("scout", tmp_path)
        keyring.set_password(KEYRING_SERVICE, "scout", "0x" + "11" * 32 + "\n")
        key = key_of_keyring("scout", tmp_path)
        assert (key.secret, key.folder) == ("0x" + "11" * 32, tmp_path / "scout.vaults")
        assert "11" * 32 not in repr(key)
        for name in ("", "../up", "a" * 65):
            with pytest.raises(UnusableKey, match="characters"):
                key_of_keyring(name, tmp_path)
        (tmp_path / "ring.cfg").write_text("no ring")
        with pytest.raises(UnusableKey, match="cannot be read"):
            key_of_keyring("scout", tmp_path)
        keyring.set_keyring(fail.Keyring())
        with pytest.raises(UnusableKey, match="cannot be read"):
            key_of_keyring("scout", tmp_path)
    finally:
        keyring.set_keyring(before)
    monkeypatch.setattr(local_signer, "find_spec", lambda name: None)
    with pytest.raises(UnusableKey, match="mandate-wallet"):
        key_of_keyring("scout", tmp_path)


async def test_the_file_signs_the_bill_that_was_asked_for_and_no_other(
    sqlite_url: str, evm: Evm, tmp_path: Path
) -> None:
    async with a_world(sqlite_url, evm, purses=True) as world:
        m = await paying(world)
        asked = {
            "public_id": m.id, "payment_required": required(world, "0.25"), "max_amount": "1",
            "why": "data", "idempotency_key": "b-1",
        }  # fmt: skip
        made = (
            await m.as_agent("mandate_pay", **{n: v for n, v in asked.items() if n != "public_id"})
        ).body
        document: Any = made["typed_data"]
        known = m.agent_wallet.address, world.clock.now()
        _check_bill(asked, document, *known)
        later = {"validAfter": "1900000000", "validBefore": "1900000060"}
        wrong = [
            {"to": "0x" + "d4" * 20}, {"value": "250001"}, {"validAfter": "0"},
            {"from": m.agent_wallet.address}, later,
        ]  # fmt: skip
        for change in wrong:
            with pytest.raises(NotSigned):
                _check_bill(asked, document | {"message": document["message"] | change}, *known)
        with pytest.raises(NotSigned):
            _check_bill(asked, document | {"domain": document["domain"] | {"chainId": 1}}, *known)
        with pytest.raises(NotSigned):
            _check_bill(asked | {"max_amount": "0.249999"}, document, *known)
        with pytest.raises(ValueError, match="TransferWithAuthorization"):
            _check_bill(asked, document | {"primaryType": "Permit"}, *known)
        signature = signatures.sign(_key_of(evm, m), eip712.digest(document))
        assert signature == m.agent_wallet.sign_typed(document).lower()


async def test_an_official_client_pays_with_the_key_of_the_file(
    sqlite_url: str, evm: Evm, tmp_path: Path
) -> None:
    async with running(sqlite_url, evm, purses=True) as service:
        m = await paying(service.world)
        key = await service.world.ok("owner_agent_key_add", m.owner, agent_id=m.agent.user_id)
        file = tmp_path / "agent.key"
        file.write_text(_key_of(evm, m))
        file.chmod(0o600)
        signer = LocalSigner(key_of_file(file), f"{service.base}/mcp", key["key"], 60)
        asked = {"public_id": m.id, "payment_required": required(service.world, "0.25")}
        asked |= {"max_amount": "1", "why": "data"}
        try:
            first, again = [(await signer.pay(asked)).body for _ in range(2)]
        finally:
            await signer.close()
        assert first["payment_payload"] == again["payment_payload"]
        assert await settled(service.world, first["payment_payload"])  # type: ignore[arg-type]


def _key_of(evm: Evm, m: Mandated) -> str:
    own = m.agent_wallet.address
    (secret,) = (k for k in evm.chain.keys if Account.from_key(bytes(k)).address == own)
    return "0x" + bytes(secret).hex()
