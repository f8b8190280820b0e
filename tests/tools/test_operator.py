"""What an admin key can do over HTTP and the operator on the command line; and what neither can."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from domain.settings import SWITCHES
from server.cli.main import main
from tests.world import World, drafted, error_of, working
from tools.catalogue import OPERATIONS
from tools.context.credentials import hashed, resolve
from tools.model.operation import Caller

ADMIN = Caller("admin", credential="x")


@pytest.mark.anyio
async def test_switches_are_listed_and_set_for_the_next_request(world: World) -> None:
    told = (await world.ok("admin_switches", ADMIN))["items"]
    assert [s["name"] for s in told] == list(SWITCHES)
    assert {s["source"] for s in told} == {"settings"}
    assert (await world.ok("admin_switch_set", ADMIN, name="door", value="off"))["value"] == "off"
    told = (await world.ok("admin_switches", ADMIN))["items"]
    assert {"name": "door", "value": "off", "source": "database"} in told
    unknown = await world.do("admin_switch_set", ADMIN, name="nothing", value="on")
    assert (unknown.status, unknown.body["error"]) == (404, "not_found")


@pytest.mark.anyio
async def test_a_key_is_shown_once_and_revoked_at_once(world: World) -> None:
    made = await world.ok("admin_key_create", ADMIN, role="keeper")
    look = lambda: world.store.read(  # noqa: E731
        lambda uow: resolve(uow, "bearer", made["key"], world.clock.now())[0]
    )
    assert (await look()) == Caller("keeper", credential=hashed(made["key"]))
    listed = (await world.ok("admin_keys", ADMIN))["items"]
    assert [(k["key_id"], k["revoked"]) for k in listed] == [(made["key_id"], False)]
    assert made["key"] not in json.dumps(listed)
    await world.ok("admin_key_revoke", ADMIN, key_id=made["key_id"])
    assert await look() is None
    again = await world.do("admin_key_revoke", ADMIN, key_id=made["key_id"])
    assert again.status == 404


@pytest.mark.anyio
async def test_an_admin_key_moves_no_money_and_widens_no_mandate(world: World) -> None:
    m = await working(world)
    before = await m.read()
    for name, weaker, stronger in (
        ("approval_gate", "off", "on"),
        ("paid_read_enforcement", "off", "on"),
        ("stop_line_dry_run", "on", "off"),
    ):
        refused = await world.do("admin_switch_set", ADMIN, name=name, value=weaker)
        assert (refused.status, refused.body["error"]) == (403, "forbidden"), name
        assert (await world.do("admin_switch_set", ADMIN, name=name, value=stronger)).status == 200
    for op in OPERATIONS:
        if op.auth not in ("open", "admin"):
            assert await error_of(world.do(op.name, ADMIN)) == "forbidden", op.name
    assert {op.name for op in OPERATIONS if op.auth == "admin" and op.writes} == {
        "admin_switch_set", "admin_key_create", "admin_key_revoke", "admin_allowlist_set",
    }  # fmt: skip
    assert (await m.read())["mandate"] == before["mandate"]


@pytest.mark.anyio
async def test_counts_count(world: World) -> None:
    assert (await world.ok("admin_counts", ADMIN))["mandates"] == 0
    await drafted(world)
    told = await world.ok("admin_counts", ADMIN)
    assert (told["agents"], told["mandates"], told["mandates_working"]) == (0, 1, 0)


def test_the_command_line_does_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WALLET_DATABASE_URL", f"sqlite:///{tmp_path / 'w.sqlite'}")
    monkeypatch.chdir(tmp_path)

    def wallet(*arguments: str) -> str:
        done = CliRunner().invoke(main, list(arguments))
        assert done.exit_code == 0, done.output
        return done.output

    wallet("db", "upgrade")
    made = json.loads(wallet("keys", "create", "--role", "admin"))
    assert made["key"].startswith("dk_")
    assert [k["key_id"] for k in json.loads(wallet("keys", "list"))] == [made["key_id"]]
    wallet("keys", "revoke", made["key_id"])
    wallet("switch", "set", "door", "on")
    told = json.loads(wallet("switch", "list"))
    assert told["door"] == {"value": "on", "from": "database"}
    assert json.loads(wallet("counts"))["mandates"] == 0
