"""Random lives on the real vaults, in every configuration: what the service shows is what a second, slow book comes to.

`TOWNS` towns of `MANDATES` lives a configuration, from `LIVES_SEED` on; a town that fails names its seed.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from storage.schema import migrate
from tests.figures.comparing import Comparing, Difference
from tests.figures.desk import a_desk
from tests.figures.town import Town
from tests.world import Evm

pytestmark = pytest.mark.anyio
SEED = int(os.environ.get("LIVES_SEED", "1"))
CONFIGURATIONS = [
    pytest.param(dry, key, id=f"{'dry-run' if dry else 'acting'}-{'key' if key else 'no-key'}")
    for dry in (True, False)
    for key in (False, True)
]
# The configuration that ships; the others are played by `make plays`, and by `make lives`.
FEW = [
    pytest.param(*c.values, id=c.id, marks=() if c.values == (True, False) else pytest.mark.play)
    for c in CONFIGURATIONS
]
MANDATES, MOVES = 6, 12


@dataclass
class Tally:
    """What a run came to: lives, comparisons of a whole town, returns that were compared and those that contract 8
    leaves open.
    """

    lives: int = 0
    compared: int = 0
    returns: int = 0
    open_returns: int = 0
    rows: int = 0
    adjusted: int = 0
    wrong: Counter[str] = field(default_factory=Counter)

    async def of(self, town: Town, *, last: bool = False) -> list[Difference]:
        comparing = Comparing(town)
        found = await comparing.everything(last=last)
        self.compared += 1
        self.returns += comparing.returns
        self.open_returns += comparing.open_returns
        self.rows += comparing.rows_read
        self.adjusted += len(comparing.adjusted)
        return found


async def lived(
    url: str, evm: Evm, seed: int, tally: Tally, *, dry: bool, key: bool
) -> list[Difference]:
    """Play one town; the differences of the first comparison that has any."""
    async with a_desk(url, evm, house_key=key, stop_line_dry_run=dry) as desk:
        town = Town(desk, seed)
        await town.settle_in(MANDATES)
        tally.lives += MANDATES
        for _ in range(MOVES):
            for _ in range(town.chance.randint(1, MANDATES)):
                await town.act()
            town.later()
            if town.chance.random() < 0.7:  # else the service is down for a while
                await desk.later(seconds=5)
                if town.chance.random() < 0.4 and (found := await tally.of(town)):
                    return found
        await desk.later(seconds=30)
        return await tally.of(town, last=True)


@pytest.mark.slow
@pytest.mark.parametrize(("dry", "key"), FEW)
async def test_a_town_shows_what_a_second_book_comes_to(
    sqlite_url: str, evm: Evm, dry: bool, key: bool
) -> None:
    tally = Tally()
    assert await lived(sqlite_url, evm, SEED, tally, dry=dry, key=key) == []
    assert tally.returns > tally.open_returns
    # Sums that hold because one row takes up what the others miss would say nothing.
    assert tally.rows > 50 * max(1, tally.adjusted), tally


@pytest.mark.campaign
@pytest.mark.parametrize(("dry", "key"), CONFIGURATIONS)
async def test_hundreds_of_towns_show_what_a_second_book_comes_to(
    tmp_path: Path, evm: Evm, dry: bool, key: bool
) -> None:
    tally = Tally()
    for seed in range(SEED, SEED + int(os.environ.get("TOWNS", "167"))):
        url = f"sqlite:///{tmp_path / f'town{seed}.sqlite'}"
        migrate.upgrade(url)
        for name, told, wanted in await lived(url, evm, seed, tally, dry=dry, key=key):
            tally.wrong[name.split(" ")[-1]] += 1
            print(f"TOWNS=1 LIVES_SEED={seed} {dry=} {key=} {name}: shown {told}, wanted {wanted}")
    print(tally)
    assert not tally.wrong
