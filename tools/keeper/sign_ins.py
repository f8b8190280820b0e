"""Sign-in cleanup: bounds stored challenges and sessions, which any key pair can create."""

from __future__ import annotations

from typing import Final

from tools.model.operation import Deps

# So many a stranger's may be; of more the first to end go, never those of who funded a vault.
SESSIONS_MOST: Final = 200_000
CHALLENGES_MOST: Final = 100_000


async def end_old(
    deps: Deps, *, sessions: int = SESSIONS_MOST, challenges: int = CHALLENGES_MOST
) -> None:
    """Take out what is over and what is too many, some in each transaction."""
    now = deps.clock.now()
    await deps.store.write(lambda uow: uow.identities.end_challenges(now, challenges))
    while await deps.store.write(lambda uow: uow.identities.end_sessions(now, sessions)):
        pass
