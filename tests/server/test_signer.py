"""The signer: what it signs, and each thing that it refuses by itself, whatever a taken-over service asks of it."""

from __future__ import annotations

import asyncio
import copy
import logging
import os
import socket
import stat
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest
from click.testing import CliRunner
from eth_account import Account

from chain.contracts import eip712
from devtools.devvenue import DevVenue, Rules, VenueFault, serve
from domain.mandates.targets import Target
from domain.mandates.terms import typed_data
from domain.refusals import Refused, SigningRefused
from domain.trading.venue_account import milliseconds
from server.cli.main import main
from server.settings import Settings
from server.signer.client import SignerClient
from server.signer.daemon import NotStarted, Signer, listening, prepared, run_signer
from server.venues import venues
from tests.waiting import STUCK_S
from tests.world import Clock
from venue import actions, signing
from venue.budget import InMemory
from venue.keystore import Keystore, Unsafe

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
OWNER = Account.from_key("0x" + "a7" * 32)
STRANGER = Account.from_key("0x" + "b8" * 32)
COIN = "xyz:XYZ100"
NAMED = Target(kind="venue", venue="hyperliquid", symbols=(COIN,))
CLOID = "0x" + "12" * 16
N = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


class Stage:
    def __init__(
        self, clock: Clock, test: DevVenue, keys: Keystore, line: SignerClient, socket: Path
    ):
        self.clock, self.test, self.keys, self.line, self.socket = clock, test, keys, line, socket

    def request(self, **changes: Any) -> dict[str, Any]:
        return {
            "do": "sign", "network": "testnet", "wallet": OWNER.address, "coin": COIN, "action": self.close(),
            "expires_after": milliseconds(self.clock.now()) + 30_000, "terms": signed_terms(),
        } | changes  # fmt: skip

    def close(self, **changes: Any) -> dict[str, Any]:
        order = {
            "a": self.test.market(COIN).asset,
            "b": False,
            "p": str(self.test.market(COIN).mark.to_integral_value()),
            "s": "0.01",
            "r": True,
            "t": {"limit": {"tif": "Ioc"}},
            "c": CLOID,
        }
        return {"type": "order", "orders": [order | changes], "grouping": "na"}

    async def refused(self, **changes: Any) -> str:
        with pytest.raises(SigningRefused) as found:
            await self.line.ask(self.request(**changes))
        return str(found.value)


def signed_terms(
    by: Any = OWNER,
    targets: tuple[Target, ...] = (NAMED,),
    told: tuple[Target, ...] | None = None,
    **changes: str,
) -> dict[str, Any]:
    message = {
        "publicId": "m_abcdefgh23", "owner": OWNER.address, "agent": STRANGER.address, "budgetUsdc": "1000000", "perTxCap": "1", "dailyCap": "1",
        "stopFloor": "1", "stopFloorBps": "1000", "horizonDays": "30", "endsAt": "2000000000", "agentFeeBps": "0", "approvalAbove": "0",
        "onFloor": "1", "allowedTargetsHash": "0x" + "00" * 32, "guardTargetsHash": eip712.guard_hash(targets), "issuedAt": "1", "nonce": "7",
    } | changes  # fmt: skip
    whole = typed_data(message, "2", 84532, "0x" + "00" * 19 + "01")
    signature = by.sign_typed_data(full_message=whole).signature.hex()
    return {
        "message": message, "chain_id": 84532, "verifying_contract": "0x" + "00" * 19 + "01", "signature": "0x" + signature,
        "targets": [t.as_json() for t in (targets if told is None else told)],
    }  # fmt: skip


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    clock = Clock()
    rules = Rules(ip_budget=None)
    test = DevVenue(lambda: milliseconds(clock.now()), rules=rules)
    main = DevVenue(lambda: milliseconds(clock.now()), mainnet=True, rules=rules)
    (one, test_url), (two, main_url) = await serve(test), await serve(main)
    networks = venues(
        Settings(venue_mainnet_url=main_url, venue_testnet_url=test_url, venue_timeout_s=30),
        clock,
        InMemory(),
    )
    seal = sealed_file(tmp_path)
    keys = Keystore(tmp_path / "keys", seal, iter_random())
    socket = tmp_path / "signer.sock"
    signer = Signer(keys=keys, clock=clock, venue=networks.get)
    try:
        async with listening(signer, socket, os.getuid()):
            line = SignerClient(socket)
            await line.keeper_address("testnet", OWNER.address)
            yield Stage(clock, test, keys, line, socket)
    finally:
        test.faults.clear()
        await networks.close()
        await one.cleanup()
        await two.cleanup()


def sealed_file(folder: Path) -> Path:
    seal = folder / "seal"
    seal.write_text("s" * 40)
    seal.chmod(0o600)
    return seal


def iter_random() -> Any:
    numbers = iter(range(0x1234567890, 0x1234567890 + 100))
    return lambda: next(numbers)


async def test_a_reduce_only_close_under_signed_terms_is_signed_and_the_venue_executes_it(
    stage: Stage,
) -> None:
    keeper = await stage.line.keeper_address("testnet", OWNER.address)
    owner, now = signing.key_from(bytes(OWNER.key)), milliseconds(stage.clock.now())
    asset = stage.test.market(COIN).asset
    stage.test.deposit(OWNER.address, "5000", "xyz")
    stage.test.book(COIN, [("25000", "1")], [("25010", "1")])

    def act(
        action: Any, nonce: int, digest: bytes, expires: int | None = None, signature: Any = None
    ) -> Any:
        made = signature or signing.sign(owner, digest).as_json()
        more = {} if expires is None else {"expiresAfter": expires}
        return stage.test.exchange(
            {"action": dict(action), "nonce": nonce, "signature": made} | more
        )

    approval = actions.approve_agent(
        "testnet", agent=keeper, name="wsvc-k-000000", nonce=now, signature_chain_id="0x1"
    )
    assert act(approval, now, signing.user_digest(approval))["status"] == "ok"
    buy = {"asset": asset, "is_buy": True, "price": Decimal(25010), "size": Decimal("0.01")}
    opens = actions.place([actions.order(**buy, reduce_only=False, tif="Ioc")])
    opened = act(opens, now + 1, signing.l1_digest("testnet", signing.action_hash(opens, now + 1)))
    assert "filled" in str(opened), opened
    asked = stage.request(action=stage.close(p="25000"))
    told = await stage.line.ask(asked)
    closed = act(asked["action"], told["nonce"], b"", told["expires_after"], told["signature"])
    assert closed["response"]["data"]["statuses"][0]["filled"]["totalSz"] == "0.01", closed
    assert stage.test.account(OWNER.address).position(COIN) == 0


@pytest.mark.parametrize(
    "action",
    [{"type": "noop"}, {"type": "cancelByCloid", "cancels": [{"asset": 110000, "cloid": CLOID}]}, {"type": "cancel", "cancels": [{"a": 110000, "o": 5}]}],
)  # fmt: skip
async def test_cancellations_and_a_noop_are_signed(action: dict[str, Any], stage: Stage) -> None:
    asset = stage.test.market(COIN).asset
    for one in action.get("cancels", ()):
        one |= {k: asset for k in ("asset", "a") if k in one}
    assert (await stage.line.ask(stage.request(action=action)))["signature"]["v"] in (27, 28)


async def test_its_nonces_are_its_own_and_never_used_twice(stage: Stage) -> None:
    nonces = [(await stage.line.ask(stage.request()))["nonce"] for _ in range(5)]
    assert len(set(nonces)) == 5
    assert nonces == sorted(nonces)
    assert await stage.line.ask(
        stage.request(nonce=1)
    )  # a nonce of the caller is not even looked at
    parallel = await asyncio.gather(*(stage.line.ask(stage.request()) for _ in range(20)))
    assert len({t["nonce"] for t in parallel}) == 20
    again = Keystore(stage.socket.parent / "keys", stage.socket.parent / "seal", iter_random())
    assert again.nonce("testnet", OWNER.address, 0) > nonces[-1]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"r": False}, "reduce-only"), ({"r": 1}, "reduce-only"), ({"t": {"limit": {"tif": "Gtc"}}}, "immediate"),
        ({"t": {"trigger": {"isMarket": True, "triggerPx": "1", "tpsl": "sl"}}}, "immediate"), ({"a": 0}, "asset"), ({"a": True}, "asset"),
        ({"c": "0x12"}, "cloid"), ({"c": None}, "cloid"), ({"s": "0"}, "size"), ({"s": "1e5"}, "decimals"), ({"p": "NaN"}, "decimals"),
        ({"p": 5}, "decimals"), ({"p": "25000.0"}, "decimals"), ({"s": "0.010"}, "decimals"), ({"b": 1}, "side"), ({"p": "1"}, "far below"), ({"extra": 1}, "other fields"),
    ],
)  # fmt: skip
async def test_an_order_that_is_no_plain_close_is_refused(
    change: dict[str, Any], why: str, stage: Stage
) -> None:
    assert why in await stage.refused(action=stage.close(**change))


async def test_prices_more_than_800_bps_from_the_book_that_it_reads_itself_are_refused(
    stage: Stage,
) -> None:
    stage.test.book(COIN, [("10000", "1")], [("10010", "1")])
    assert (await stage.line.ask(stage.request(action=stage.close(p="9200"))))["nonce"]
    assert "far below" in await stage.refused(action=stage.close(p="9199.9"))
    assert (await stage.line.ask(stage.request(action=stage.close(b=True, p="10810.8"))))["nonce"]
    assert "far above" in await stage.refused(action=stage.close(b=True, p="10810.9"))


async def test_without_a_fresh_two_sided_book_nothing_is_signed(stage: Stage) -> None:
    close = stage.close()
    stage.test.stale_book(COIN, milliseconds(stage.clock.now()) - 11_000)
    assert "fresh book" in await stage.refused(action=close)
    stage.test.stale_book(COIN, None)
    stage.clock.forward(seconds=10)
    stage.test.book(COIN, [], [("10010", "1")])
    assert "other side" in await stage.refused(action=close)
    stage.clock.forward(seconds=10)
    stage.test.faults.add(VenueFault(effect="status", status=500))
    assert "cannot be read" in await stage.refused(action=close)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"builder": {"b": "0x" + "11" * 20, "f": 1}}, "builder"), ({"vaultAddress": "0x" + "11" * 20}, "vault"), ({"grouping": "normalTpsl"}, "grouping"),
        ({"grouping": "positionTpsl"}, "grouping"), ({"grouping": {"p": 1}}, "grouping"), ({"more": 1}, "other fields"), ({"orders": []}, "exactly one"),
        ({"orders": [{}, {}]}, "exactly one"),
    ],
)  # fmt: skip
async def test_a_builder_a_vault_another_grouping_or_another_number_of_orders_is_refused(
    change: dict[str, Any], why: str, stage: Stage
) -> None:
    assert why in await stage.refused(action=stage.close() | change)


@pytest.mark.parametrize(
    "kind",
    ["updateLeverage", "usdSend", "withdraw3", "agentSendAsset", "vaultTransfer", "subAccountTransfer", "agentSetAbstraction", "approveAgent",
     "approveBuilderFee", "modify", "batchModify", "scheduleCancel", "twapOrder", "", None],
)  # fmt: skip
async def test_any_other_type_of_action_is_refused_before_it_is_hashed(
    kind: Any, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*args: Any, **more: Any) -> bytes:
        raise AssertionError("it was hashed")

    monkeypatch.setattr(signing, "action_hash", never)
    assert "not signed here" in await stage.refused(action={"type": kind, "amount": "1"})
    assert "due" in await stage.refused(action=None)


@pytest.mark.parametrize("ahead_ms", [0, -1, 60_001, 10**9, None, "soon", 1.5, True])
async def test_an_expiry_beyond_sixty_seconds_is_refused(ahead_ms: Any, stage: Stage) -> None:
    now = milliseconds(stage.clock.now())
    told = now + ahead_ms if type(ahead_ms) is int else ahead_ms
    assert "expiry" in await stage.refused(expires_after=told)


def twin(signature: str) -> str:
    """The same consent in its high-s form."""
    raw = bytes.fromhex(signature[2:])
    high = (N - int.from_bytes(raw[32:64], "big")).to_bytes(32, "big")
    return "0x" + (raw[:32] + high + bytes([55 - raw[64]])).hex()


OTHER = Target(kind="venue", venue="hyperliquid", symbols=("xyz:SP500",))
ELSEWHERE = Target(kind="venue", venue="another", symbols=(COIN,))
GOOD = signed_terms()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"terms": signed_terms(by=STRANGER)}, "did not sign"),
        ({"terms": signed_terms(owner=STRANGER.address)}, "another owner"),
        ({"terms": None}, "no terms"),
        ({"terms": GOOD | {"message": GOOD["message"] | {"budgetUsdc": "2"}}}, "did not sign"),
        ({"terms": GOOD | {"signature": twin(GOOD["signature"])}}, "did not sign"),
        ({"terms": signed_terms(onFloor="0")}, "close at the floor"),
        ({"terms": signed_terms(targets=(OTHER,))}, "do not name"),
        ({"terms": signed_terms(targets=(ELSEWHERE,))}, "do not name"),
        ({"terms": signed_terms(targets=(Target(kind="x402", hosts=("a.example",)),))}, "do not name"),
        ({"terms": signed_terms(targets=(OTHER,), told=(NAMED,))}, "not those of the terms"),
        ({"vault": "0x" + "11" * 20}, "vault"),
        ({"wallet": STRANGER.address}, "no key"),
    ],
)  # fmt: skip
async def test_nothing_is_signed_but_under_the_owners_terms_of_this_market(
    change: dict[str, Any], why: str, stage: Stage
) -> None:
    assert why in await stage.refused(**change)


async def test_the_markets_number_is_its_own_reading_and_not_the_callers(stage: Stage) -> None:
    """A service that is taken over cannot name one market and sign for another."""
    sp500 = stage.test.market("xyz:SP500").asset
    assert "asset" in await stage.refused(action=stage.close(a=sp500))
    assert "no such market" in await stage.refused(
        coin="xyz:GHOST",
        terms=signed_terms(
            targets=(Target(kind="venue", venue="hyperliquid", symbols=("xyz:GHOST",)),)
        ),
    )


async def test_a_cancellation_of_another_market_is_refused(stage: Stage) -> None:
    sp500 = stage.test.market("xyz:SP500").asset
    for action in (
        {"type": "cancel", "cancels": [{"a": sp500, "o": 1}]}, {"type": "cancelByCloid", "cancels": [{"asset": sp500, "cloid": CLOID}]},
        {"type": "cancel", "cancels": []}, {"type": "cancel", "cancels": [{"a": 1}]}, {"type": "cancel", "cancels": [], "f": True},
    ):  # fmt: skip
        await stage.refused(action=action)


async def test_another_wallets_key_is_not_used(stage: Stage) -> None:
    await stage.line.keeper_address("testnet", STRANGER.address)
    assert "did not sign" in await stage.refused(wallet=STRANGER.address)


async def test_each_network_and_wallet_has_a_key_of_its_own_that_stays(stage: Stage) -> None:
    told = [
        await stage.line.keeper_address(n, w)
        for n in ("testnet", "mainnet")
        for w in (OWNER.address, STRANGER.address)
    ]  # type: ignore[arg-type]
    assert len(set(told)) == 4
    assert await stage.line.keeper_address("testnet", OWNER.address.lower()) == told[0]


@pytest.mark.parametrize(
    "asked",
    [
        {"do": "export"},
        {"do": "address", "network": "moon", "wallet": OWNER.address},
        {"do": "address", "network": "testnet", "wallet": "../x"},
        {},
    ],
)
async def test_other_requests_are_refused_and_no_key_ever_leaves(
    asked: dict[str, Any], stage: Stage
) -> None:
    with pytest.raises(SigningRefused):
        await stage.line.ask(asked)


@pytest.mark.parametrize(
    "line", [b"\n", b"[]\n", b"{\n", b"\xff\n", b"[" * 5_000 + b"\n", b"null\n"]
)
async def test_a_line_that_is_no_request_is_answered_and_the_signer_goes_on(
    line: bytes, stage: Stage
) -> None:
    reader, writer = await asyncio.open_unix_connection(stage.socket)
    writer.write(line)
    assert b"refused" in await reader.readline()
    writer.close()
    endless, writer = await asyncio.open_unix_connection(stage.socket)
    writer.write(b"x" * 300_000)
    assert await endless.read() == b""  # it is cut off
    writer.close()
    assert await stage.line.keeper_address("testnet", OWNER.address)


async def test_the_socket_is_one_users_alone_and_another_user_is_not_answered(
    stage: Stage, tmp_path: Path
) -> None:
    assert stat.S_IMODE(stage.socket.stat().st_mode) == 0o600
    path = tmp_path / "other.sock"
    signer = Signer(keys=stage.keys, clock=stage.clock, venue=lambda n: None)  # type: ignore[arg-type, return-value]
    if os.getuid() == 0:
        async with listening(signer, path, 12_345):
            assert path.stat().st_uid == 12_345
            with pytest.raises(Refused):
                await SignerClient(path).keeper_address("testnet", OWNER.address)
    else:
        with pytest.raises(NotStarted, match="CAP_CHOWN"):
            async with listening(signer, path, 12_345):
                pass


async def test_the_socket_takes_no_place_of_a_file_or_of_another_signer(
    stage: Stage, tmp_path: Path
) -> None:
    signer = Signer(keys=stage.keys, clock=stage.clock, venue=lambda n: None)  # type: ignore[arg-type, return-value]
    with pytest.raises(NotStarted, match="another signer answers at"):
        async with listening(signer, stage.socket, os.getuid()):
            pass
    assert await stage.line.keeper_address("testnet", OWNER.address)
    seal = sealed_file(tmp_path)
    with pytest.raises(NotStarted, match="is there already and no socket"):
        async with listening(signer, seal, os.getuid()):
            pass
    assert len(seal.read_text()) >= 32
    # What a killed one left is taken.
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(tmp_path / "left.sock"))
    async with listening(signer, tmp_path / "left.sock", os.getuid()):
        assert await SignerClient(tmp_path / "left.sock").keeper_address("testnet", OWNER.address)


async def test_without_a_signer_the_service_says_so(tmp_path: Path) -> None:
    with pytest.raises(Refused) as found:
        await SignerClient(tmp_path / "nobody.sock").keeper_address("testnet", OWNER.address)
    assert found.value.code == "not_configured"


async def test_keys_are_sealed_on_disk_and_never_logged(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        await stage.line.ask(stage.request())
        await stage.refused(action={"type": "withdraw3"})
    key = stage.keys.key("testnet", OWNER.address)
    assert key is not None
    secret = key.to_hex()[2:]
    for path in (stage.socket.parent / "keys").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert secret not in path.read_text()
    assert secret not in caplog.text


def test_a_seal_or_a_folder_that_others_can_read_stops_the_start(tmp_path: Path) -> None:
    seal = sealed_file(tmp_path)
    folder = tmp_path / "keys"
    Keystore(folder, seal, iter_random())
    folder.chmod(0o755)
    with pytest.raises(Unsafe):
        Keystore(folder, seal, iter_random())
    folder.chmod(0o700)
    seal.chmod(0o640)
    with pytest.raises(Unsafe):
        Keystore(folder, seal, iter_random())
    seal.chmod(0o600)
    seal.write_text("short")
    with pytest.raises(Unsafe, match="32"):
        Keystore(folder, seal, iter_random())


def test_a_key_opens_only_under_its_seal(tmp_path: Path) -> None:
    seal = sealed_file(tmp_path)
    Keystore(tmp_path / "keys", seal, iter_random()).address("testnet", OWNER.address)
    seal.write_text("t" * 40)
    with pytest.raises(Unsafe, match="the seal opens no key in"):
        Keystore(tmp_path / "keys", seal, iter_random())
    # One file that is damaged keeps no other key away.
    (tmp_path / "keys" / "agent-u_aaaaaaaaaa-1.json").write_text("{")
    seal.write_text("s" * 40)
    Keystore(tmp_path / "keys", seal, iter_random())


def test_a_seal_that_is_no_text_is_refused(tmp_path: Path) -> None:
    seal = sealed_file(tmp_path)
    seal.write_bytes(bytes(range(128, 192)))
    with pytest.raises(Unsafe, match="holds no text"):
        Keystore(tmp_path / "keys", seal, iter_random())


async def test_it_does_not_start_without_its_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        NotStarted,
        match="WALLET_SIGNER_SOCKET, WALLET_SIGNER_KEYS, WALLET_SIGNER_SEAL_FILE, WALLET_SIGNER_PEER_UID",
    ):
        prepared(Settings(), Clock())


def test_started_with_the_environment_of_the_service_it_says_in_one_sentence_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WALLET_SIGNER_SOCKET", str(tmp_path / "s"))
    monkeypatch.setenv("WALLET_KEEPER_PRIVATE_KEY", "0x" + "12" * 32)
    told = CliRunner().invoke(main, ["signer"])
    lacks = "WALLET_SIGNER_KEYS, WALLET_SIGNER_SEAL_FILE, WALLET_SIGNER_PEER_UID"
    said = f"Error: the signer lacks {lacks}: set them in an environment of its own\n"
    assert (told.exit_code, told.output) == (1, said)


async def test_a_second_signer_of_the_same_keys_does_not_start(tmp_path: Path) -> None:
    """What it would make, end or count, the first one would not see."""
    given = {
        "signer_keys": tmp_path / "keys", "signer_seal_file": sealed_file(tmp_path), "signer_peer_uid": os.getuid(),
    }  # fmt: skip
    first, second = (Settings(signer_socket=tmp_path / name, **given) for name in ("one", "two"))
    told = list[str]()
    async with anyio.create_task_group() as group:
        group.start_soon(run_signer, first, told.append)
        with anyio.fail_after(STUCK_S):
            while not told:
                await anyio.sleep(0.01)
            for settings in (second, first):
                with pytest.raises(NotStarted, match="another signer"):
                    await run_signer(settings, told.append)
        assert first.signer_socket.exists()
        assert not second.signer_socket.exists()
        group.cancel_scope.cancel()
    async with anyio.create_task_group() as group:
        group.start_soon(run_signer, second, told.append)
        with anyio.fail_after(STUCK_S):
            while len(told) < 2:
                await anyio.sleep(0.01)
        group.cancel_scope.cancel()


def test_the_terms_of_a_request_are_not_changed_by_reading_them() -> None:
    from server.signer.daemon import parse_terms

    told = signed_terms()
    before = copy.deepcopy(told)
    assert parse_terms(told).signer == OWNER.address
    assert told == before


async def test_a_spent_key_is_renewed_once_and_signs_no_more(stage: Stage) -> None:
    spent = await stage.line.keeper_address("testnet", OWNER.address)
    for other in (STRANGER.address, "", "../x"):
        assert await stage.line.keeper_renewed("testnet", OWNER.address, other) == spent
    fresh = await stage.line.keeper_renewed("testnet", OWNER.address, spent)
    assert fresh != spent
    assert await stage.line.keeper_renewed("testnet", OWNER.address, spent) == fresh
    assert await stage.line.keeper_address("testnet", OWNER.address) == fresh
    stage.test.book(COIN, [("25000", "1")], [("25010", "1")])
    asked = stage.request(action=stage.close(p="25000"))
    told = await stage.line.ask(asked)
    hashed = signing.action_hash(
        asked["action"], told["nonce"], expires_after=told["expires_after"]
    )
    signature = signing.Signature.parse(told["signature"])
    assert signing.signer(signing.l1_digest("testnet", hashed), signature) == fresh
