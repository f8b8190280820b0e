"""Each answer of the local venue, checked against the types of @nktkas/hyperliquid."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

from devtools.devvenue.info import INFO_READS
from tests import npm
from tests.venue.devvenue.material import ALICE, BOB, BUILDER, KEY, Desk, address, limit

pytestmark = [
    pytest.mark.slow,
    pytest.mark.node,
    pytest.mark.skipif(bool(npm.missing()), reason=npm.missing() or "can run"),
]
CLOID: Final = "0x" + "c1" * 16
HOUR: Final = 3_600_000
ME: Final = {"user": ALICE.address}
COIN: Final = {"coin": "BTC"}
# What each kind is asked with, where a dex, a coin or a time has to be named.
ASKED: Final[dict[str, list[dict[str, Any]]]] = {
    "meta": [{}, {"dex": "xyz"}, {"dex": "km"}],
    "metaAndAssetCtxs": [{}, {"dex": "xyz"}],
    "allMids": [{}, {"dex": "xyz"}],
    "l2Book": [COIN, {"coin": "nope"}, {"coin": "SOL"}],
    "fundingHistory": [COIN | {"startTime": 0}],
    "perpsAtOpenInterestCap": [{"dex": "xyz"}],
    "clearinghouseState": [ME, ME | {"dex": "xyz"}, {"user": KEY.address}],
    "spotClearinghouseState": [ME, {"user": BOB.address}, {"user": KEY.address}],
    "orderStatus": [ME | {"oid": CLOID}, ME | {"oid": 1}],
    "userFillsByTime": [ME | {"startTime": 0}],
    "userFills": [ME],
    "maxBuilderFee": [ME | {"builder": BUILDER.address}],
    "userRole": [ME, {"user": KEY.address}, {"user": "0x" + "99" * 20}],
    "activeAssetData": [ME | COIN, ME | {"coin": "xyz:SP500"}],
}
SETTINGS: Final = {
    "compilerOptions": {
        "strict": True,
        "noEmit": True,
        "target": "es2022",
        "module": "nodenext",
        "moduleResolution": "nodenext",
        "skipLibCheck": True,
        "preserveSymlinks": True,
        "lib": ["es2023", "dom"],
        "types": [],
    },
    "files": ["answers.mts"],
}


def busy() -> Desk:
    """A venue where everything has happened once."""
    desk = Desk()
    desk.venue.deposit(ALICE.address, 1_000, "xyz")
    desk.venue.deposit(BOB.address, 5, "spot")
    desk.approve(ALICE, address(KEY), "key")
    desk.approve_builder(ALICE, "0.1%")
    btc, builder = desk.id("BTC"), {"b": address(BUILDER), "f": 100}
    buy = limit(btc, True, "64500", "0.5", "Ioc", cloid=CLOID)
    desk.order(ALICE, buy, builder=builder)
    desk.order(ALICE, limit(desk.id("xyz:XYZ100"), True, "25500", "0.01", "Ioc"))
    desk.order(ALICE, limit(btc, True, "60000", "0.001", cloid="0x" + "c2" * 16))
    desk.order(ALICE, limit(btc, False, "70000", "0.001", reduce=True))
    desk.order(ALICE, limit(btc, True, "64000.5", "0.001"))
    desk.venue.book("SOL", [], [])
    desk.venue.market("xyz:SP500").at_oi_cap = True
    desk.now += 2 * HOUR
    desk.venue.deposit(BOB.address, 1)
    desk.order(BOB, limit(desk.id("ETH"), True, "1900", "100", "Ioc"))
    desk.venue.prices("ETH", 1_000, 1_000)
    return desk


def typed(kind: str) -> str:
    return kind[0].upper() + kind[1:] + "Response"


def checked(tmp_path: Path, lines: list[str]) -> str:
    """What TypeScript has to say; empty where all fits."""
    modules = npm.install()
    (tmp_path / "node_modules").symlink_to(modules)
    (tmp_path / "tsconfig.json").write_text(json.dumps(SETTINGS))
    (tmp_path / "answers.mts").write_text("\n".join(lines))
    command = npm.node("typescript/lib/tsc.js", "--project", str(tmp_path), "--pretty", "false")
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode in (0, 1, 2), done.stderr
    return done.stdout


def imported(module: str, kinds: list[str]) -> str:
    names = ", ".join(typed(kind) for kind in kinds)
    return f'import type {{ {names} }} from "@nktkas/hyperliquid/api/{module}";'


def test_every_answer_has_the_published_type(tmp_path: Path) -> None:
    desk = busy()
    lines = [imported("info", list(INFO_READS))]
    for kind in INFO_READS:
        for n, fields in enumerate(ASKED.get(kind, [ME])):
            answer = desk.ask(kind, **fields)
            lines.append(f"export const {kind}{n}: {typed(kind)} = {json.dumps(answer)};")
    assert checked(tmp_path, lines) == ""
    for kind in ("userFills", "openOrders", "historicalOrders"):
        assert desk.ask(kind, **ASKED.get(kind, [ME])[0]), f"{kind} has nothing to check"
    assert desk.ask("clearinghouseState", **ME)["assetPositions"]
    liquidated = desk.ask("userFills", user=BOB.address)[0]
    assert liquidated["liquidation"]["liquidatedUser"] == address(BOB)


def test_every_status_of_an_action_has_the_published_type(tmp_path: Path) -> None:
    desk = Desk()
    btc = desk.id("BTC")
    resting = limit(btc, True, "60000", "0.001", cloid=CLOID)
    told = {
        "order": [
            {"type": "order", "orders": [resting], "grouping": "na"},
            {
                "type": "order",
                "orders": [limit(btc, True, "64500", "0.001", "Ioc")],
                "grouping": "na",
            },
        ],
        "cancelByCloid": [
            {"type": "cancelByCloid", "cancels": [{"asset": btc, "cloid": CLOID}] * 2}
        ],
        "cancel": [{"type": "cancel", "cancels": [{"a": btc, "o": 1}]}],
        "updateLeverage": [
            {"type": "updateLeverage", "asset": btc, "isCross": True, "leverage": 3}
        ],
        "noop": [{"type": "noop"}],
    }
    lines = [imported("exchange", list(told))]
    for kind, actions in told.items():
        for n, action in enumerate(actions):
            answer = desk.act(ALICE, action)
            lines.append(f"export const {kind}{n}: {typed(kind)} = {json.dumps(answer)};")
    assert checked(tmp_path, lines) == ""
