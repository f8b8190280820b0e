"""Reorganisations deeper than the confirmations, on both chains, through both inlets, behind honest
nodes and bad ones: the ledger comes to what the vault itself says.

`CHAIN_RUNS` and `CHAIN_SEED` choose how many lives, and from which seed on; a life that fails names
the command that plays it again, and tells its whole story. `CHAIN_OMITS=1` puts them behind nodes
that leave logs out; `CHAIN_PATTERN` has them leave others out in the same life. `CHAIN_AMONG=1` puts
two honest nodes behind the bad one, which is asked first and stays bad to the end.
"""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, AsyncExitStack, ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from chain.chains import EvmChains
from domain.refusals import Refused
from tests import npm
from tests.anvil.chains import running_anvil
from tests.chain_campaign.life import Life
from tests.chain_campaign.nodes import AMONG_FAULTS, FAULTS, Fault, Faulty, before
from tests.world import CHAIN_ID, Evm, a_world, running_evm

pytestmark = pytest.mark.anyio
SEED = int(os.environ.get("CHAIN_SEED", "1"))
RUNS = int(os.environ.get("CHAIN_RUNS", "250"))
OMITS = os.environ.get("CHAIN_OMITS") == "1"
PATTERN = os.environ.get("CHAIN_PATTERN", "")
AMONG = os.environ.get("CHAIN_AMONG") == "1"
LENGTH = 50


Running = Callable[[], AbstractContextManager[Evm]]


@pytest.fixture(scope="module")
def development_chain() -> Iterator[Running]:
    """One for all lives: it goes back to where it was."""
    with running_evm() as running:
        yield lambda: nullcontext(running)


@pytest.fixture(scope="module")
def anvil() -> Running:
    """One a life: Anvil mixes states up that it came back from more than once."""
    if npm.missing():
        pytest.skip(npm.missing())
    npm.install()
    return running_anvil


async def live(
    evm: Evm, url: str, seed: int, fault: Fault | None, *, among: bool
) -> tuple[int, int, int]:
    """One life in a database of its own: how many reorganisations it saw, how many of the chain's
    rows were taken back or moved, and how many logs its vault had in the end.
    """
    chance = random.Random(f"node {seed}")  # noqa: S311
    confirmations = chance.choice([0, 0, 1, 2, 3])
    if PATTERN:  # the same life
        chance = random.Random(f"node {seed} {PATTERN}")  # noqa: S311
    async with AsyncExitStack() as stack:
        world = await stack.enter_async_context(a_world(url, evm))
        faulty = None if fault is None else Faulty(fault, chance)
        at = evm.url
        if faulty is not None:
            at = await stack.enter_async_context(before(evm.url, faulty))
        facts = replace(evm.facts(confirmations=confirmations), rpc_url=at)
        if among:
            facts = replace(facts, rpc_urls=(f"{evm.url}?second", f"{evm.url}?third"))
        faced = EvmChains([facts])
        stack.push_async_callback(faced.close)
        world.deps = replace(world.deps, chains=faced)
        life = Life(world, faced.get(CHAIN_ID), seed, faulty, among=among)
        try:
            await life.play(LENGTH)
        except Exception as error:
            error.add_note(await life.story())
            raise
        return life.reorgs, life.changed, life.logs


def told_of(error: Exception) -> str:
    why = error.refusal.reason if isinstance(error, Refused) else str(error)
    return "\n".join([f"{type(error).__name__}: {why[:400]}", *getattr(error, "__notes__", ())])


async def campaign(
    running: Running,
    name: str,
    template: Path,
    folder: Path,
    runs: int,
    seed: int,
    *,
    omits: bool = False,
    among: bool = False,
) -> None:
    """Lives from a seed on, every other one behind a bad node; prints what they came to."""
    wrong, sums, began = list[str](), [0, 0, 0], time.monotonic()
    for n in range(seed, seed + runs):
        path = folder / f"{n}.sqlite"
        shutil.copyfile(template, path)
        fault: Fault | None = None if n % 2 else FAULTS[n // 2 % len(FAULTS)]
        if among:
            fault = AMONG_FAULTS[n % len(AMONG_FAULTS)]
        try:
            with ExitStack() as stack:
                # Its contracts are put there by a loop of its own.
                evm = await anyio.to_thread.run_sync(stack.enter_context, running())
                told = await live(
                    evm, f"sqlite:///{path}", n, "omits" if omits else fault, among=among
                )
            sums = [a + b for a, b in zip(sums, told, strict=True)]
        except Exception as error:
            again = f"CHAIN_RUNS=1 CHAIN_SEED={n} pytest {__file__} -m campaign -k {name}"
            wrong.append(f"{again}: {told_of(error)}")
        path.unlink()
    took = time.monotonic() - began
    print(
        f"\n{name}: {runs} lives from seed {seed}, {sums[0]} reorganisations, {sums[1]} rows taken "
        f"back or moved, {sums[2]} logs in the end, {len(wrong)} wrong, {took:.0f} s"
    )
    assert not wrong, "\n".join(wrong)


@pytest.mark.play  # the lives behind one bad node are reorganised too
@pytest.mark.slow
async def test_a_few_reorganised_lives_come_to_what_the_vault_says(
    development_chain: Running, sqlite_template: Path, tmp_path: Path
) -> None:
    await campaign(development_chain, "development", sqlite_template, tmp_path, 8, SEED)


@pytest.mark.play  # tests/anvil reads the same logs of it
@pytest.mark.slow
@pytest.mark.anvil
async def test_a_few_lives_on_anvil_come_to_what_the_vault_says(
    anvil: Running, sqlite_template: Path, tmp_path: Path
) -> None:
    await campaign(anvil, "anvil", sqlite_template, tmp_path, 6, SEED)


@pytest.mark.play  # one such log each: tests/server/test_sums.py
@pytest.mark.slow
async def test_a_few_lives_behind_a_node_that_leaves_logs_out_come_to_the_vaults_own_sums(
    development_chain: Running, sqlite_template: Path, tmp_path: Path
) -> None:
    await campaign(
        development_chain, "development", sqlite_template, tmp_path, 3, SEED + 1, omits=True
    )


@pytest.mark.slow
async def test_a_few_lives_behind_one_bad_node_of_three_come_to_what_the_vault_says(
    development_chain: Running, sqlite_template: Path, tmp_path: Path
) -> None:
    await campaign(development_chain, "development", sqlite_template, tmp_path, 5, SEED, among=True)


@pytest.mark.campaign
async def test_hundreds_of_lives_on_the_development_chain(
    development_chain: Running, sqlite_template: Path, tmp_path: Path
) -> None:
    await campaign(
        development_chain,
        "development",
        sqlite_template,
        tmp_path,
        RUNS,
        SEED,
        omits=OMITS,
        among=AMONG,
    )


@pytest.mark.campaign
@pytest.mark.anvil
async def test_hundreds_of_lives_on_anvil(
    anvil: Running, sqlite_template: Path, tmp_path: Path
) -> None:
    await campaign(anvil, "anvil", sqlite_template, tmp_path, RUNS, SEED, omits=OMITS, among=AMONG)
