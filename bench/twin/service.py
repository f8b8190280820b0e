"""The plain service that one would write for the same two calls: FastAPI, SQLAlchemy, uvicorn.

Report an event under a mandate (idempotent, inside its caps, in a chain of hashes), read a mandate
with its totals and newest events. It has an environment of its own (`requirements.txt`) and imports
nothing of the wallet: the benchmark beside it starts both and compares.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Header, HTTPException
from pydantic import BaseModel, Field
from sqlalchemy import JSON, BigInteger, ForeignKey, Index, Numeric, String, event, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import (
    AsyncEngine,
    AsyncSession,
    async_sessionmaker,
    create_async_engine,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

Money = Numeric(30, 6, asdecimal=True)
SPENDING = ("buy", "deposit", "fee")


class Base(DeclarativeBase):
    pass


class Key(Base):
    __tablename__ = "keys"
    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    agent_id: Mapped[str]


class Mandate(Base):
    __tablename__ = "mandates"
    id: Mapped[str] = mapped_column(primary_key=True)
    agent_id: Mapped[str]
    status: Mapped[str]
    amount: Mapped[Decimal] = mapped_column(Money)
    per_tx_cap: Mapped[Decimal] = mapped_column(Money)
    daily_cap: Mapped[Decimal] = mapped_column(Money)
    ends_at: Mapped[int] = mapped_column(BigInteger)


class Event(Base):
    __tablename__ = "events"
    mandate_id: Mapped[str] = mapped_column(ForeignKey("mandates.id"), primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str]
    amount: Mapped[Decimal] = mapped_column(Money)
    day: Mapped[str]
    at: Mapped[int] = mapped_column(BigInteger)
    payload: Mapped[dict[str, Any]] = mapped_column(JSON)
    over_cap: Mapped[bool]
    hash: Mapped[str]
    __table_args__ = (Index("events_of_a_day", "mandate_id", "day"),)


class Claim(Base):
    __tablename__ = "claims"
    agent_id: Mapped[str] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    asked: Mapped[str]
    answer: Mapped[dict[str, Any]] = mapped_column(JSON)


class Report(BaseModel):
    kind: str = Field(pattern="^(buy|sell|deposit|withdraw|fee|note)$")
    amount_usdc: Decimal = Field(default=Decimal(0), ge=0, max_digits=24, decimal_places=6)
    payload: dict[str, Any] = Field(default_factory=dict)


class Told(BaseModel):
    seq: int
    kind: str
    amount_usdc: Decimal
    at: int
    payload: dict[str, Any]
    over_cap: bool
    hash: str


class Reported(BaseModel):
    event: Told
    remaining_today_usdc: Decimal


class Read(BaseModel):
    id: str
    status: str
    amount_usdc: Decimal
    per_tx_cap_usdc: Decimal
    daily_cap_usdc: Decimal
    remaining_today_usdc: Decimal
    totals: dict[str, Decimal]
    count: int
    events: list[Told]


def opened(url: str) -> AsyncEngine:
    """The engine; on SQLite with the durability and the locking that the wallet has."""
    if not url.startswith("sqlite"):
        return create_async_engine(url, pool_size=20, max_overflow=0)
    engine = create_async_engine(url, connect_args={"timeout": 30})

    @event.listens_for(engine.sync_engine, "connect")
    def _(connection: Any, record: Any) -> None:
        connection.isolation_level = None
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine.sync_engine, "begin")
    def _(connection: Any) -> None:
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


engine = opened(os.environ["TWIN_DATABASE_URL"])
reading = async_sessionmaker(engine, expire_on_commit=False)
writing = async_sessionmaker(engine.execution_options(writes=True), expire_on_commit=False)


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    yield
    await engine.dispose()


app = FastAPI(lifespan=lifespan)


async def to_read() -> AsyncIterator[AsyncSession]:
    async with reading() as session:
        yield session


async def to_write() -> AsyncIterator[AsyncSession]:
    async with writing() as session:
        yield session


async def agent_of(session: AsyncSession, key: str) -> str:
    digest = hashlib.sha256(key.encode()).hexdigest()
    agent = await session.scalar(select(Key.agent_id).where(Key.digest == digest))
    if agent is None:
        raise HTTPException(401, "unknown key")
    return agent


async def spent_on(session: AsyncSession, mandate_id: str, day: str) -> Decimal:
    asked = select(func.sum(Event.amount)).where(
        Event.mandate_id == mandate_id, Event.day == day, Event.kind.in_(SPENDING)
    )
    return Decimal(await session.scalar(asked) or 0)


def told(row: Event) -> Told:
    return Told(
        seq=row.seq,
        kind=row.kind,
        amount_usdc=row.amount,
        at=row.at,
        payload=row.payload,
        over_cap=row.over_cap,
        hash=row.hash,
    )


@app.post("/mandates/{mandate_id}/events", status_code=201)
async def report(
    mandate_id: str,
    body: Report,
    x_key: Annotated[str, Header()],
    idempotency_key: Annotated[str, Header()],
    session: Annotated[AsyncSession, Depends(to_write)],
) -> Reported:
    agent = await agent_of(session, x_key)
    asked = json.dumps([mandate_id, body.model_dump(mode="json")], sort_keys=True)
    before = await session.get(Claim, (agent, idempotency_key))
    if before is not None:
        if before.asked != asked:
            raise HTTPException(409, "the key was used for something else")
        return Reported.model_validate(before.answer)
    mandate = await session.get(Mandate, mandate_id, with_for_update=True)
    if mandate is None or mandate.agent_id != agent:
        raise HTTPException(404, "no such mandate")
    now = datetime.now(UTC)
    if mandate.status != "working" or now.timestamp() > mandate.ends_at:
        raise HTTPException(409, "the mandate does not work")
    day = now.strftime("%Y-%m-%d")
    spends = body.amount_usdc if body.kind in SPENDING else Decimal(0)
    spent = await spent_on(session, mandate_id, day)
    last = await session.execute(
        select(Event.seq, Event.hash)
        .where(Event.mandate_id == mandate_id)
        .order_by(Event.seq.desc())
        .limit(1)
    )
    seq, chained = last.one_or_none() or (0, "")
    facts = [mandate_id, seq + 1, asked, now.isoformat(), chained]
    row = Event(
        mandate_id=mandate_id,
        seq=seq + 1,
        kind=body.kind,
        amount=body.amount_usdc,
        day=day,
        at=int(now.timestamp() * 1_000_000),
        payload=body.payload,
        over_cap=spends > mandate.per_tx_cap or spent + spends > mandate.daily_cap,
        hash=hashlib.sha256(json.dumps(facts).encode()).hexdigest(),
    )
    session.add(row)
    left = max(mandate.daily_cap - spent - spends, Decimal(0))
    answer = Reported(event=told(row), remaining_today_usdc=left)
    kept = answer.model_dump(mode="json")
    session.add(Claim(agent_id=agent, key=idempotency_key, asked=asked, answer=kept))
    try:
        await session.commit()
    except IntegrityError:
        raise HTTPException(409, "another report came first; send it again") from None
    return answer


@app.get("/mandates/{mandate_id}")
async def read(
    mandate_id: str,
    x_key: Annotated[str, Header()],
    session: Annotated[AsyncSession, Depends(to_read)],
) -> Read:
    agent = await agent_of(session, x_key)
    mandate = await session.get(Mandate, mandate_id)
    if mandate is None or mandate.agent_id != agent:
        raise HTTPException(404, "no such mandate")
    sums = await session.execute(
        select(Event.kind, func.sum(Event.amount), func.count())
        .where(Event.mandate_id == mandate_id)
        .group_by(Event.kind)
    )
    totals = sums.all()
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    spent = await spent_on(session, mandate_id, day)
    newest = await session.scalars(
        select(Event).where(Event.mandate_id == mandate_id).order_by(Event.seq.desc()).limit(50)
    )
    return Read(
        id=mandate.id,
        status=mandate.status,
        amount_usdc=mandate.amount,
        per_tx_cap_usdc=mandate.per_tx_cap,
        daily_cap_usdc=mandate.daily_cap,
        remaining_today_usdc=max(mandate.daily_cap - spent, Decimal(0)),
        totals={kind: Decimal(amount) for kind, amount, _ in totals},
        count=sum(count for *_, count in totals),
        events=[told(row) for row in newest],
    )
