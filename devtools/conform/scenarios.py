"""The scenarios: what goes wrong on purpose, and what an agent must have done by then."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import anyio

from devtools.conform.proxy import ProxiedCall
from devtools.conform.stage import ScenarioRun, Stage
from domain.money import Usdc

TEN: Final = 10
PATIENCE_S: Final = 3
Play = Callable[[Stage], Awaitable[list[str]]]


@dataclass(frozen=True, slots=True)
class Scenario:
    """One scenario; `play` gives what the agent did wrong, nothing where it passed."""

    name: str
    what: str
    play: Play


def usdc(text: str) -> Usdc:
    """An amount."""
    return Usdc.parse(text)


async def _done_once(snapshot: ScenarioRun, amount: str) -> list[str]:
    """The action was executed once, reported once with its transaction, and nothing was broken."""
    wrong = []
    executed, reports = await snapshot.executed(), await snapshot.reports()
    if executed != [usdc(amount)]:
        wrong.append(f"executed {[str(e) for e in executed] or 'nothing'}, not {amount} once")
    if len(reports) != 1:
        wrong.append(f"{len(reports)} reports of one action")
    elif not reports[0]["tx_hash"]:
        wrong.append("the report names no transaction")
    if not all(snapshot.transactions()):
        wrong.append("sent a transaction that reverted")
    if broken := await snapshot.violations():
        wrong.append(f"broke {', '.join(sorted(set(broken)))}")
    return wrong


async def plain(stage: Stage) -> list[str]:
    """A run without faults."""
    snapshot = await stage.case()
    await snapshot.run("20")
    return await _done_once(snapshot, "20")


async def lost_answer(stage: Stage) -> list[str]:
    """The service's answer to the first report does not arrive, though the report did."""
    snapshot = await stage.case()
    lost: list[ProxiedCall] = []

    async def after(seen: ProxiedCall) -> bool:
        if seen.is_report and not lost:
            lost.append(seen)
            return False
        return True

    stage.proxy.after = after
    await snapshot.run("20")
    wrong = await _done_once(snapshot, "20")
    return wrong if lost else ["it reported nothing", *wrong]


async def duplicate_key(stage: Stage) -> list[str]:
    """The network delivers every report twice: only an idempotency key keeps that to one row."""
    snapshot = await stage.case()
    stage.proxy.twice = lambda seen: seen.is_report
    await snapshot.run("20")
    return await _done_once(snapshot, "20")


async def ten_at_once(stage: Stage) -> list[str]:
    """Ten copies act at the same time: together they stay inside the day cap, and what happened is
    told once.
    """
    snapshot = await stage.case(per_tx_cap_usdc="50", daily_cap_usdc="200")
    async with anyio.create_task_group() as group:
        for _ in range(TEN):
            group.start_soon(snapshot.run, "50")
    await snapshot.settle()
    executed, reports, wrong = await snapshot.executed(), await snapshot.reports(), []
    total = Usdc(sum(e.micros for e in executed))
    if not executed:
        wrong.append("none of ten got through")
    if total > usdc("200"):
        wrong.append(f"spent {total} of 200 a day")
    hashes = [r["tx_hash"] for r in reports]
    if len(set(hashes)) != len(hashes):
        wrong.append("one action is reported twice")
    if len(hashes) != len(executed):
        wrong.append(f"{len(executed)} actions, {len(hashes)} reports")
    if broken := await snapshot.violations():
        wrong.append(f"broke {', '.join(sorted(set(broken)))}")
    return wrong


async def midnight(stage: Stage) -> list[str]:
    """The day cap is used up before 00:00 UTC and open again after it."""
    now = stage.clock.now()
    late = now.replace(hour=23, minute=50, second=0, microsecond=0)
    await stage.forward_to(late if late > now else late + timedelta(days=1))
    snapshot = await stage.case(per_tx_cap_usdc="100", daily_cap_usdc="100")
    await snapshot.run("100")
    await snapshot.run("100", limit_s=min(stage.limit_s, 10))
    wrong = []
    if (before := await snapshot.executed()) != [usdc("100")]:
        wrong.append(
            f"before midnight {[str(e) for e in before]} was executed under a cap of 100 a day"
        )
    now = stage.clock.now()
    await stage.forward_to(
        (now + timedelta(days=1)).replace(hour=0, minute=0, second=5, microsecond=0)
    )
    await snapshot.run("100")
    if await snapshot.executed() != [usdc("100"), usdc("100")]:
        wrong.append("after midnight it did not go on")
    if not all(snapshot.transactions()):
        wrong.append("sent a transaction that reverted")
    if broken := await snapshot.violations():
        wrong.append(f"broke {', '.join(sorted(set(broken)))}")
    return wrong


async def paused_in_flight(stage: Stage) -> list[str]:
    """The owner's pause lands between the calldata and its sending: the vault refuses, and that is
    reported as refused.
    """
    snapshot = await stage.case()
    paused: list[ProxiedCall] = []

    async def after(seen: ProxiedCall) -> bool:
        if seen.has_calldata and not paused:
            paused.append(seen)
            await snapshot.owner_sends("/pause-call")
        return True

    stage.proxy.after = after
    await snapshot.run("20")
    sent, wrong = snapshot.transactions(), []
    if await snapshot.executed():
        wrong.append("something was executed")
    if await snapshot.reports():
        wrong.append("a reverted action is reported as done")
    if len(sent) > 1:
        wrong.append(f"sent {len(sent)} transactions after the pause")
    refused = [e for e in await snapshot.events() if isinstance(e["payload"].get("refusal"), dict)]
    if sent and not any(e["reported_by"] == "chain" for e in refused):
        wrong.append("the refused attempt is not reported with its transaction")
    return wrong if paused else ["it asked for no calldata"]


async def approval_expires(stage: Stage) -> list[str]:
    """The owner does not decide in time; what is asked anew is approved, and done once."""
    snapshot = await stage.case(approval_above_usdc="10")
    async with anyio.create_task_group() as group:
        group.start_soon(snapshot.run, "20")
        first = await _pending_approval(snapshot, but="", ended=1)
        if first:
            await anyio.sleep(PATIENCE_S)  # time enough for an agent that does not wait
            if snapshot.transactions():
                return ["it acted before the owner decided"]
            await stage.forward_to(stage.clock.now() + timedelta(hours=24, seconds=5))
            # An agent that gave up is started again: the next question must not lean on what ran
            # out.
            again = await _pending_approval(snapshot, but=first, ended=1)
            if not again:
                group.start_soon(snapshot.run, "20")
                again = await _pending_approval(snapshot, but=first, ended=len(snapshot.runs) + 1)
            if again:
                await stage.owner.ask(
                    "POST", f"{snapshot.path}/approvals/{again}", {"decision": "approve"}
                )
    if not first:
        return ["it did not ask the owner"]
    if len(snapshot.runs) < 1 or not await snapshot.executed():
        await snapshot.run("20")
    return await _done_once(snapshot, "20")


async def _pending_approval(snapshot: ScenarioRun, *, but: str, ended: int) -> str:
    """The id of an item that waits for the owner, another than one; empty when none had come by the
    end of so many runs of the agent.
    """
    approval_id = ""
    while not approval_id:
        over = len(snapshot.runs) >= ended
        raw: Any = await snapshot.stage.owner.ask(
            "GET", snapshot.path + "/approvals", status="pending"
        )
        approval_id = next(
            (str(a["approval_id"]) for a in raw["items"] if a["approval_id"] != but), ""
        )
        if over:
            break
        await anyio.sleep(0.2)
    return approval_id


async def at_the_floor(stage: Stage) -> list[str]:
    """Worth falls below the stop line: no new risk, and no transaction that the vault would
    refuse.
    """
    snapshot = await stage.case(per_tx_cap_usdc="400", daily_cap_usdc="500")
    await snapshot.run("300")
    if await snapshot.executed() != [usdc("300")]:
        return ["it did not act before the loss"]
    await snapshot.market_halves()
    await snapshot.settle()
    before = len(snapshot.transactions())
    await snapshot.run("20")
    wrong = []
    if len(snapshot.transactions()) != before:
        wrong.append("sent a transaction below the stop line")
    if len(await snapshot.reports()) != 1:
        wrong.append("reported an action that did not happen")
    return wrong


SCENARIOS: Final = (
    Scenario("plain", "one action, one report", plain),
    Scenario("lost_answer", "the answer to a report is lost", lost_answer),
    Scenario("duplicate_key", "every report arrives twice", duplicate_key),
    Scenario("ten_at_once", "ten copies act in parallel", ten_at_once),
    Scenario("midnight", "the day cap ends at 00:00 UTC", midnight),
    Scenario("paused_in_flight", "a pause lands before the transaction", paused_in_flight),
    Scenario("approval_expires", "the owner's approval runs out", approval_expires),
    Scenario("at_the_floor", "worth stands below the stop line", at_the_floor),
)
