"""`python -m bench.peers.measure`: our chain reader and Ponder, each from its start until the same backlog of
Anvil lies in PostgreSQL; adds `reader_over_ponder` to build/bench.json."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

import asyncpg

from bench.lines import tell
from bench.postgres import durable_postgres, new_database
from bench.stage import listed, median
from storage.schema import migrate
from tests import npm
from tests.anvil.chains import running_anvil
from tests.world import CHAIN_ID, Evm, Mandated, World, a_world, working

FOLDER: Final = Path(__file__).parent
BLOCKS, A_BLOCK, ROUNDS = 200, 10, 3
LONGEST_S: Final = 300


async def filled(world: World, m: Mandated) -> None:
    """Blocks of deposits by the owner, whose wallet Anvil speaks for."""
    rpc = world.evm.chain.rpc  # type: ignore[attr-defined]  # Anvil's, in the place of the embedded one
    call = listed(await m.as_owner("owner_fund", amount="0.05"), "calls")[-1]
    sent = {
        "from": m.owner_wallet.address,
        "to": call["to"],
        "data": call["data"],
        "gas": hex(300_000),
    }

    def work() -> None:
        rpc("anvil_impersonateAccount", m.owner_wallet.address)
        rpc("evm_setAutomine", False)
        for _ in range(BLOCKS):
            for _ in range(A_BLOCK):
                rpc("eth_sendTransaction", sent)
            rpc("evm_mine")
        rpc("evm_setAutomine", True)

    await asyncio.to_thread(work)


async def until(
    url: str, counting: str, wanted: int, command: list[str], env: dict[str, str]
) -> float:
    """Seconds from the start of a process until a query counts so many rows; the process is ended then."""
    with tempfile.TemporaryFile() as log:
        started = time.perf_counter()
        child = await asyncio.create_subprocess_exec(
            *command, env=env, cwd=FOLDER / "ponder", stdout=log, stderr=subprocess.STDOUT
        )
        connection = await asyncpg.connect(url)
        try:
            while await _counted(connection, counting) < wanted:
                if child.returncode is not None or time.perf_counter() - started > LONGEST_S:
                    log.seek(0)
                    raise RuntimeError(log.read()[-4_000:].decode(errors="replace"))
                await asyncio.sleep(0.05)
            return time.perf_counter() - started
        finally:
            await connection.close()
            if child.returncode is None:
                child.kill()
            await child.wait()


async def _counted(connection: asyncpg.Connection, counting: str) -> int:
    try:
        return int(await connection.fetchval(counting) or 0)
    except asyncpg.UndefinedTableError:  # the process has not made it yet
        return 0


async def ours(url: str, evm: Evm) -> float:
    """`wallet keeper` on a database that knows the mandate and nothing of its deposits."""
    prefix = f"WALLET_CHAINS__{CHAIN_ID}__"
    env = {
        "PATH": os.defpath, "PYTHONPATH": os.getcwd(), "WALLET_DATABASE_URL": url, prefix + "RPC_URL": evm.url,
        prefix + "FACTORY": evm.factory, prefix + "USDC": evm.usdc, prefix + "CONFIRMATIONS": "0",
    }  # fmt: skip
    counting = "SELECT count(*) FROM ledger_events WHERE reported_by = 'chain'"
    command = [sys.executable, "-m", "server", "keeper"]
    return await until(url, counting, BLOCKS * A_BLOCK, command, env)


async def ponders(url: str, evm: Evm) -> float:
    """`ponder start` on an empty database."""
    env = {
        "PATH": os.defpath, "DATABASE_URL": url, "RPC_URL": evm.url, "FACTORY": evm.factory,
        "PONDER_TELEMETRY_DISABLED": "1", "CI": "true", "HOME": "/nonexistent",
    }  # fmt: skip
    entry = FOLDER / "node_modules" / "ponder" / "dist" / "esm" / "bin" / "ponder.js"
    command = [str(npm.SHIPPED), str(entry), "start", "--schema", "bench", "--port", "0"]
    return await until(url, "SELECT count(*) FROM bench.deposit", BLOCKS * A_BLOCK, command, env)


async def measure() -> dict[str, tuple[float, str]]:
    """In turns, each time on databases of their own; medians."""
    await asyncio.to_thread(npm.install, FOLDER)
    running = running_anvil()
    evm = await asyncio.to_thread(running.__enter__)
    try:
        async with AsyncExitStack() as stack:
            server = await stack.enter_async_context(durable_postgres())
            first = await new_database(server, "first")
            await asyncio.to_thread(migrate.upgrade, first)
            world = await stack.enter_async_context(a_world(first, evm))
            m = await working(world, deposit="1")
            for call in listed(await m.as_owner("owner_fund", amount="400"), "calls")[:1]:
                await world.mined(m.owner_wallet, call)
            await filled(world, m)
            await world.store.close()  # a database in use cannot be copied
            took = []
            for n in range(ROUNDS):
                copy = await new_database(server, f"ours{n}", template="first")
                took.append(
                    (
                        await ours(copy, evm),
                        await ponders(await new_database(server, f"ponder{n}"), evm),
                    )
                )
    finally:
        await asyncio.to_thread(running.__exit__, None, None, None)
    logs = BLOCKS * A_BLOCK
    return {
        "reader_over_ponder": (
            median([p / o for o, p in took]),
            "ratio of logs a second, at least 1.5",
        ),
        "reader_logs_per_second_from_start": (logs / median([o for o, _ in took]), "1/s"),
        "ponder_logs_per_second_from_start": (logs / median([p for _, p in took]), "1/s"),
    }


if __name__ == "__main__":
    asyncio.run(tell({"peers": measure}, ["peers"]))
