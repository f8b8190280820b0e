"""`python seed.py KEY MANDATES ID=ROWS…`: the tables, an agent's key, mandates, and events in some."""

from __future__ import annotations

import asyncio
import hashlib
import sys
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from service import Base, Event, Key, Mandate, engine, writing


def mandate(mandate_id: str) -> Mandate:
    cap = Decimal(1_000_000)
    ends_at = int((datetime.now(UTC) + timedelta(days=30)).timestamp())
    return Mandate(
        id=mandate_id,
        agent_id="a",
        status="working",
        amount=cap,
        per_tx_cap=cap / 10,
        daily_cap=cap,
        ends_at=ends_at,
    )


async def main(key: str, mandates: int, ledgers: dict[str, int]) -> None:
    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
    now = datetime.now(UTC)
    async with writing.begin() as session:
        session.add(Key(digest=hashlib.sha256(key.encode()).hexdigest(), agent_id="a"))
        session.add_all(mandate(f"m_bench{n:05d}") for n in range(mandates))
        session.add_all(mandate(mandate_id) for mandate_id in ledgers)
        await session.flush()
        for mandate_id, rows in ledgers.items():
            session.add_all(
                Event(
                    mandate_id=mandate_id,
                    seq=n + 1,
                    kind=("buy", "sell", "note", "fee")[n % 4],
                    amount=Decimal(1_000_000 + n) / 1_000_000,
                    day=now.strftime("%Y-%m-%d"),
                    at=int(now.timestamp() * 1_000_000),
                    payload={"position": {"id": f"p{n % 7}"}, "text": "bench"},
                    over_cap=False,
                    hash=hashlib.sha256(f"{mandate_id}{n}".encode()).hexdigest(),
                )
                for n in range(rows)
            )
    await engine.dispose()


asked = {name: int(rows) for name, _, rows in (word.partition("=") for word in sys.argv[3:])}
asyncio.run(main(sys.argv[1], int(sys.argv[2]), asked))
