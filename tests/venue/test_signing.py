"""Signatures equal to the published vectors and to two other clients, and what is refused as a signature."""

from __future__ import annotations

import json
import random
import subprocess
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account
from eth_account.messages import encode_defunct, encode_typed_data
from eth_utils import keccak
from hyperliquid.utils import signing as sdk
from hypothesis import given
from hypothesis import strategies as st

from domain.trading.orders import PaidBuilder
from tests import npm
from tests.venue.random_actions import Drawn, drawn
from venue import actions, signing
from venue.signing import Signature

VECTORS: dict[str, Any] = json.loads((Path(__file__).parent / "signature_vectors.json").read_text())
KEY = signing.key_from(bytes.fromhex(VECTORS["key"][2:]))
SIGNER = KEY.public_key.to_checksum_address()
N = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
MANY = 2_000
SDK_CHAIN = "0x66eee"


def signed(d: Drawn) -> dict[str, Any]:
    key = signing.key_from(bytes.fromhex(d.key[2:]))
    if d.user_signed:
        return signing.sign(key, signing.user_digest(d.action)).as_json()
    hashed = signing.action_hash(d.action, d.nonce, vault=d.vault, expires_after=d.expires_after)
    return signing.sign(key, signing.l1_digest(d.network, hashed)).as_json()


def as_numbers(signature: dict[str, Any]) -> tuple[int, int, int]:
    return int(signature["r"], 16), int(signature["s"], 16), signature["v"]


@pytest.mark.parametrize(
    "told", VECTORS["l1"], ids=lambda v: f"{v['name']}-{v['network']}-{v['vault']}-{v['expires']}"
)
def test_an_l1_action_is_signed_as_in_the_published_vector(told: dict[str, Any]) -> None:
    hashed = signing.action_hash(
        told["action"], VECTORS["nonce"], vault=VECTORS["vault"] if told["vault"] else None,
        expires_after=VECTORS["expires_after"] if told["expires"] else None,
    )  # fmt: skip
    digest = signing.l1_digest(told["network"], hashed)
    assert signing.sign(KEY, digest).as_json() == told["signature"]
    assert signing.signer(digest, Signature.parse(told["signature"])) == SIGNER


@pytest.mark.parametrize("told", VECTORS["user"], ids=lambda v: v["name"])
def test_a_user_signed_action_is_signed_as_in_the_published_vector(told: dict[str, Any]) -> None:
    kind = told["primary"].split(":")[1]
    chain = VECTORS["signature_chain_id_user"]
    action: Any = {"type": kind[0].lower() + kind[1:], "signatureChainId": chain, **told["message"]}
    typed = signing.user_typed_data(action)
    assert [[f["name"], f["type"]] for f in typed["types"][told["primary"]]] == told["types"]
    assert signing.sign(KEY, signing.user_digest(action)).as_json() == told["signature"]


def test_our_builders_write_the_actions_of_the_43_vectors() -> None:
    assert len(VECTORS["l1"]) + len(VECTORS["user"]) == 43
    told = {v["name"]: v["action"] for v in VECTORS["l1"]}
    order = told["order_ioc_builder"]["orders"][0]
    ours = actions.place(
        [
            actions.order(
                asset=order["a"], is_buy=True, price=Decimal("25372.0"), size=Decimal("0.03530"), reduce_only=False,
                tif="Ioc", cloid=order["c"],
            )
        ],
        builder=PaidBuilder(address="0x8C967E73E6B15087C42A10D344CFF4C96D877F1D", fee_tenths_bps=100),
    )  # fmt: skip
    assert json.dumps(ours) == json.dumps(told["order_ioc_builder"])
    cancels = [(c["asset"], c["cloid"]) for c in told["cancelByCloid"]["cancels"]]
    assert json.dumps(actions.cancel_by_cloid(cancels)) == json.dumps(told["cancelByCloid"])


@pytest.mark.slow
def test_two_thousand_random_actions_are_signed_as_the_official_sdk_signs_them() -> None:
    for seed in range(MANY):
        d = drawn(seed)
        wallet, mainnet = Account.from_key(d.key), d.network == "mainnet"
        if not d.user_signed:
            envelope = (d.action, d.vault, d.nonce, d.expires_after, mainnet)
            theirs = sdk.sign_l1_action(wallet, *envelope)
        elif d.action["signatureChainId"] == SDK_CHAIN:
            is_agent = d.action["type"] == "approveAgent"
            sign = sdk.sign_agent if is_agent else sdk.sign_approve_builder_fee
            theirs = sign(wallet, dict(d.action), mainnet)
        else:
            # The SDK signs under one chain id; its own typed data takes any.
            primary, fields = signing.USER_SIGNED[d.action["type"]]
            payload = sdk.user_signed_payload(primary, fields, dict(d.action))
            theirs = sdk.sign_inner(wallet, payload)
        assert as_numbers(signed(d)) == as_numbers(theirs), d


@pytest.mark.node
@pytest.mark.skipif(bool(npm.missing()), reason=npm.missing() or "can run")
def test_two_thousand_random_actions_are_signed_as_another_client_of_the_venue_signs_them() -> None:
    npm.install()
    asked = [drawn(seed) for seed in range(MANY)]
    assert {d.user_signed for d in asked} == {True, False}
    done = subprocess.run(
        npm.node("../venue_sign.mjs"), input=json.dumps([d.as_json() for d in asked]),
        capture_output=True, text=True, timeout=300, check=True, cwd=npm.FOLDER,
    )  # fmt: skip
    told = json.loads(done.stdout)
    assert len(told) == MANY
    for d, theirs in zip(asked, told, strict=True):
        assert signed(d) == theirs, d


@given(st.integers(0, 2**40))
def test_the_phantom_agents_digest_is_that_of_its_typed_data(seed: int) -> None:
    d = drawn(seed)
    hashed = keccak(text=str(seed))
    signable = encode_typed_data(full_message=signing.l1_typed_data(d.network, hashed))
    assert signing.l1_digest(d.network, hashed) == keccak(
        b"\x19" + signable.version + signable.header + signable.body
    )


def test_a_text_is_recovered_as_a_wallet_signs_it() -> None:
    wallet = Account.from_key("0x" + "4a" * 32)
    made = wallet.sign_message(encode_defunct(text="ünicode and\nlines"))
    parsed = Signature.from_hex("0x" + made.signature.hex())
    assert signing.signer(signing.text_digest("ünicode and\nlines"), parsed) == wallet.address


@given(st.decimals(min_value=0, max_value=10**12, places=8), st.integers(0, 5))
def test_a_figure_on_the_wire_has_no_trailing_zero_and_loses_nothing(
    value: Decimal, zeros: int
) -> None:
    text = actions.wire(value)
    assert Decimal(text) == value
    assert "E" not in text
    assert "." not in text or not text.endswith(("0", "."))
    assert actions.wire(value.quantize(Decimal(1).scaleb(-8 - zeros))) == text


@given(st.integers(0, 2**30))
def test_a_figure_on_the_wire_is_the_sdks_where_a_float_holds_it(n: int) -> None:
    rng = random.Random(n)  # noqa: S311 - examples
    value = Decimal(rng.randrange(10**7)).scaleb(
        -rng.randint(0, 6)
    )  # beyond about 15 digits the SDK's floats round
    assert actions.wire(value) == sdk.float_to_wire(float(value))


@pytest.mark.parametrize(
    ("told", "wire"), [("0.00076000", "0.00076"), ("987654321.00000000", "987654321"), ("87654321.12345678", "87654321.12345678"), ("-0.0", "0"), ("1E+3", "1000")]
)  # fmt: skip
def test_known_figures_on_the_wire(told: str, wire: str) -> None:
    assert actions.wire(Decimal(told)) == wire


@pytest.mark.parametrize("bad", ["0.123456789", "NaN", "Infinity", "-Infinity", "1E-9"])
def test_a_figure_that_the_venue_cannot_hash_is_refused_and_never_rounded(bad: str) -> None:
    with pytest.raises(ValueError, match=r"decimals|number"):
        actions.wire(Decimal(bad))


def test_abuse_07_the_high_s_twin_recovers_the_same_signer_and_is_refused() -> None:
    digest = keccak(text="one consent")
    good = signing.sign(KEY, digest)
    twin = {"r": f"0x{good.r:064x}", "s": f"0x{N - good.s:064x}", "v": 55 - good.v}
    assert signing.signer(digest, Signature(good.r, N - good.s, 55 - good.v)) == SIGNER
    with pytest.raises(ValueError, match="upper half"):
        Signature.parse(twin)
    with pytest.raises(ValueError, match="upper half"):
        Signature.from_hex("0x" + twin["r"][2:] + twin["s"][2:] + f"{twin['v']:02x}")


def test_abuse_08_a_testnet_signature_is_somebody_elses_on_mainnet() -> None:
    hashed = signing.action_hash({"type": "noop"}, 1)
    made = signing.sign(KEY, signing.l1_digest("testnet", hashed))
    assert signing.signer(signing.l1_digest("mainnet", hashed), made) != SIGNER
    approval = {"agent": "0x" + "11" * 20, "name": "x", "nonce": 1, "signature_chain_id": "0x1"}
    on_testnet = signing.sign(
        KEY, signing.user_digest(actions.approve_agent("testnet", **approval))
    )  # type: ignore[arg-type]
    digest = signing.user_digest(actions.approve_agent("mainnet", **approval))  # type: ignore[arg-type]
    assert signing.signer(digest, on_testnet) != SIGNER


@pytest.mark.parametrize(
    "change",
    [
        {"r": "0x12"}, {"r": 5}, {"s": "0x" + "g" * 64}, {"v": 26}, {"v": True}, {"v": "27"}, {"v": 0}, {"extra": 1}, {"r": "0x" + "00" * 32},
        {"s": "0x" + "00" * 32}, {"r": f"0x{N:064x}"}, {"r": "0x" + "ff" * 32}, {"v": 27.0},
    ],
)  # fmt: skip
def test_what_is_no_signature_is_refused(change: dict[str, Any]) -> None:
    good = signing.sign(KEY, keccak(text="x")).as_json()
    with pytest.raises(ValueError, match=r"signature|digits|27|curve"):
        Signature.parse({**good, **change})


def test_r_and_s_leave_with_64_digits_even_where_they_begin_with_zeros() -> None:
    digests = (keccak(text=str(n)) for n in range(2_000))
    made = next(s for s in (signing.sign(KEY, d) for d in digests) if s.r < 2**248)
    assert len(made.as_json()["r"]) == 66
    assert Signature.parse(made.as_json()) == made


def test_the_order_of_the_keys_and_a_trailing_zero_change_the_hash() -> None:
    base = {"type": "order", "orders": [], "grouping": "na", "builder": {"b": "0x11", "f": 1}}
    swapped = {**base, "builder": {"f": 1, "b": "0x11"}}
    assert signing.action_hash(base, 1) != signing.action_hash(swapped, 1)
    assert signing.action_hash({"p": "1.0"}, 1) != signing.action_hash({"p": "1"}, 1)
