"""The same digest of the same terms from a browser's library, eth-account and this service."""

from __future__ import annotations

import json
import random
import subprocess

import pytest
from eth_account import Account

from chain.contracts import eip712
from devtools.local_wallet import LocalWallet
from domain.mandates.mandate import TermsFrame
from domain.mandates.terms import message, typed_data
from domain.money import Usdc
from tests import npm
from tests.domain.material import mandate
from tests.waiting import STUCK_S

pytestmark = [
    pytest.mark.node,
    pytest.mark.skipif(bool(npm.missing()), reason=npm.missing() or "can run"),
]


def terms(seed: int) -> dict:  # type: ignore[type-arg]  # typed data as a wallet takes it
    """Terms with values at and between the edges of their types."""
    rng = random.Random(seed)  # noqa: S311 - examples, no secrets
    budget = rng.choice([1, 10**18, rng.randrange(1, 10**18)])
    m = mandate(
        public_id=rng.choice(["m_aaaaaaaaaa", "", "é🚀", "x" * 64]), budget_usdc=Usdc(budget), per_tx_cap_usdc=Usdc(rng.randint(1, budget)),
        daily_cap_usdc=Usdc(budget), stop_floor_bps=rng.choice([0, 10_000, 1234]), horizon_days=rng.choice([1, 366]),
        payout_bps=rng.choice([0, 5_000]), on_floor=rng.choice(["keep", "close"]),
        approval_above_usdc=rng.choice([None, Usdc(rng.randint(1, budget))]),
        owner_address=Account.from_key(rng.randbytes(32)).address, agent_address=rng.choice([None, Account.from_key(rng.randbytes(32)).address]),
    )  # fmt: skip
    frame = TermsFrame(
        rng.randrange(2**40),
        rng.randrange(2**40),
        rng.choice([0, 2**256 - 1, rng.getrandbits(256)]),
    )
    return typed_data(
        message(m, frame, "0x" + rng.randbytes(32).hex(), "0x" + rng.randbytes(32).hex()), rng.choice(["1", "2"]),
        rng.choice([1, 84532, 2**53 - 1]), Account.from_key(rng.randbytes(32)).address,
    )  # fmt: skip


def test_a_browsers_library_eth_account_and_the_service_give_one_digest_and_one_signer() -> None:
    npm.install()
    asked = [terms(seed) for seed in range(40)]
    assert {t["domain"]["version"] for t in asked} == {"1", "2"}
    wallet = LocalWallet("0x" + "4a" * 32, "http://127.0.0.1:1")
    for t in asked:
        t["signature"] = wallet.sign_typed({k: v for k, v in t.items() if k != "signature"})
    command = npm.node("../digest.mjs")
    done = subprocess.run(
        command,
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=STUCK_S,
        check=True,
        cwd=npm.FOLDER,
    )
    told = json.loads(done.stdout)
    assert [t["digest"] for t in told] == [
        eip712.digest({k: v for k, v in t.items() if k != "signature"}) for t in asked
    ]
    assert {t["signer"] for t in told} == {wallet.address}
