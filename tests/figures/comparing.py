"""What the service shows beside what the model comes to: every difference, by its name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from tests.figures import model
from tests.figures.desk import Agent, Body, Owner
from tests.figures.model import Row, shown
from tests.figures.town import Life, Town, mark_row

Difference = tuple[str, Any, Any]  # name, shown, wanted
BPS = 10_000
HOUR = 3_600


def differ(name: str, wanted: Mapping[Any, Any], told: Mapping[Any, Any]) -> Iterator[Difference]:
    for key, value in wanted.items():
        if told.get(key) != value:
            yield f"{name}.{key}", told.get(key), value


def micros(text: str | None) -> int:
    assert text is not None
    return int(Decimal(text) * model.USDC)


def figures_of(told: Body) -> Iterator[tuple[tuple[str, ...], int | None]]:
    """What a row or a period changes, by the place of the figure."""
    worth = told["worth"]
    known = None not in worth.values()
    yield ("worth",), micros(worth["end"]) - micros(worth["start"]) if known else None
    for part in ("flows", "result"):
        for name, value in told[part].items():
            yield (part, name), None if value is None else micros(value)
    for name, value in told["fees"]["by_type"].items():
        yield ("fees", name), micros(value)


class Comparing:
    """One comparison of a town, when the reader has come to the chain's newest block."""

    def __init__(self, town: Town):
        self.town, self.desk = town, town.desk
        self.returns = self.open_returns = self.rows_read = 0
        self.adjusted: list[Body] = []
        self.now = int(self.desk.clock.now().timestamp())
        self.today = self.desk.clock.now().date()

    async def everything(self, *, last: bool = False) -> list[Difference]:
        found: list[Difference] = []
        for n, life in enumerate(self.town.lives):
            self.town.look(life)
            await self._marks(life)
            found += [(f"{n} {d[0]}", *d[1:]) for d in await self.of_life(life, last)]
        for owner in {id(life.m.owner): life.m.owner for life in self.town.lives}.values():
            found += await self.of_owner(owner)
        for agent in {life.m.agent.id: life.m.agent for life in self.town.lives}.values():
            found += await self.of_agent(agent)
        return found

    async def of_life(self, life: Life, last: bool) -> list[Difference]:
        read = await life.m.read()
        found = [*self.read(life, read), *self.observed(life)]
        if last:
            found += self.vault(life)
        found += await self.statements(life, read["progress"]["realized"])
        found += list(self.series(life, await life.m.days()))
        return found

    def vault(self, life: Life) -> Iterator[Difference]:
        """The model itself, beside what the vault says of its sums."""
        b, at = model.book(life.chain), life.m.vault
        says = {
            name: self.town.read(at, "MandateVault", name)
            for name in ("cash", "feeOwed", "totalDeposited", "totalSpent", "totalReturned")
        }
        wanted = (says["cash"] + says["feeOwed"], *list(says.values())[2:])
        mine = b.cash, b.deposits, b.spent, b.returned
        if mine != wanted:
            yield "model", mine, wanted

    # -- the ledger's observations

    async def _marks(self, life: Life) -> None:
        """The house's own marks, each held against the chain at its block; and every row's observation."""
        cursor = None
        while True:
            more = {} if cursor is None else {"cursor": cursor}
            page = await self.desk.get(f"{life.m.path}/events", by=life.m.owner, limit=200, **more)
            for e in page["items"]:
                if e["event_id"] in life.marks or e["reported_by"] not in ("chain", "keeper"):
                    continue
                self._observed(life, e)
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def _observed(self, life: Life, event: Body) -> None:
        payload = event["payload"]
        observed, marked = payload.get("observed"), payload.get("marked")
        if marked is None or payload.get("log_index") is not None:
            return
        block = self.town.chain.blocks[observed["block"]]
        truth = self.town.live(life, block)
        assert observed["whole"] == (truth is not None), event
        values = {p["key"]: micros(p["value"]) for p in observed["positions"]}
        assert values == truth, (event, truth)
        assert micros(marked["positions"]) == sum(values.values()), event
        assert marked["cash"] == observed["cash"], event
        assert event["reported_by"] == "chain", event
        life.marks[event["event_id"]] = mark_row(block.number, block.timestamp, values)

    def observed(self, life: Life) -> Iterator[Difference]:
        """What is open was seen today, and within the hour where it moved by more than a hundredth."""
        b, live = model.book(life.rows), self.town.live(life)
        if b.settled or live is None or not (b.costs or any(live.values())) or not b.rows:
            return
        seen, marks = (
            [r for r in sorted(life.rows) if r.values is not None],
            sorted(life.marks.values()),
        )
        if not seen or model.day_of(seen[-1].at) != self.today:
            yield "observed.today", seen[-1:], self.today
            return
        was, now = b.worth or 0, b.cash + sum(live.values())
        fresh = marks and self.now - marks[-1].at < HOUR
        if abs(now - was) * 100 > was and not fresh:
            yield "observed.moved", shown(was), shown(now)
        for mark in marks:
            yield from self._needed(life, mark)

    def _needed(self, life: Life, mark: Row) -> Iterator[Difference]:
        """Why a mark was recorded: the first of its day, or a move, or a worth below the line."""
        before = [r for r in sorted(life.rows) if r < mark]
        b, today = model.book(before), model.day_of(mark.at)
        others = [r for r in before if r.name == "Mark"]
        was, now = b.worth, b.cash + sum((mark.values or {}).values())
        if not others or model.day_of(others[-1].at) != today or was is None:
            return
        # One reading below the line, and the one that ends a row of those.
        low = any(self._low(life, one) for one in (mark, others[-1]))
        if abs(now - was) * 100 <= was and not low:
            yield "observed.needless", mark, (shown(was), shown(now))

    def _low(self, life: Life, mark: Row) -> bool:
        """Whether a mark stands below the stop line, in proportion while the budget is not paid in."""
        b = model.book([r for r in sorted(life.rows) if r < mark])
        worth = b.cash + sum((mark.values or {}).values())
        return worth * life.terms.budget < b.deposits * life.terms.floor

    # -- one mandate

    def read(self, life: Life, read: Body) -> Iterator[Difference]:
        b = model.book(life.rows)
        live = self.town.live(life)
        wanted, told = model.progress(life.terms, life.rows, live), dict(read["progress"])
        told["positions"] = sorted((p["id"], p["cost"], p["mark"]) for p in told["positions"])
        yield from differ("progress", wanted, told)
        if told["worth_est"] is not None:
            sum_of = sum(micros(p[2]) for p in told["positions"])
            if sum_of != micros(told["positions_est"]):
                yield "law.positions", told["positions"], told["positions_est"]
            if micros(told["cash"]) + micros(told["positions_est"]) != micros(told["worth_est"]):
                yield "law.worth", (told["cash"], told["positions_est"]), told["worth_est"]
        used = read["limits"]["used"]
        today = sum(
            r.args["spent"] for r in life.chain if r.name == "Executed" and model.day_of(r.at) == self.today
        )  # fmt: skip
        claims = micros(told["pending_claims"]["out"])
        if not today <= micros(used["per_day"]["value"]) <= today + claims:
            yield "limits.per_day", used["per_day"], shown(today)
        rolling = sum(
            r.args["spent"]
            for r in life.chain
            if r.name == "Executed" and r.at // 60 >= self.now // 60 - 1_440
        )
        if read["limits"]["rolling_24h"]["value"] != shown(rolling):
            yield "limits.rolling_24h", read["limits"]["rolling_24h"], shown(rolling)
        moves = [
            max(r.args["approved"], r.args["spent"]) for r in life.chain if r.name == "Executed"
        ]
        if used["per_action"]["value"] != shown(max(moves, default=0)):
            yield "limits.per_action", used["per_action"], shown(max(moves, default=0))
        yield from self._remaining(life, read, b)

    def _remaining(self, life: Life, read: Body, b: model.Book) -> Iterator[Difference]:
        remaining, status = read["limits"]["remaining"], read["progress"]["status"]
        if status != "working" or read["mandate"]["paused"] or remaining["blocked_by"]:
            if remaining["value"] != shown(0) and status != "working":
                yield "limits.remaining", remaining, shown(0)
            return
        used = micros(read["limits"]["used"]["per_day"]["value"])
        used += micros(read["limits"]["used"]["per_day"]["reserved"])
        most = max(0, min(life.terms.per_action, life.terms.per_day - used, b.cash))
        if remaining["value"] != shown(most):
            yield "limits.remaining", remaining, shown(most)

    async def statements(self, life: Life, realized: str) -> list[Difference]:
        """Every week of the life: each figure, and that the weeks sum up."""
        found: list[Difference] = []
        if not life.chain:
            return found
        at, total, told = min(life.rows).at, Fraction(0), []
        end = model.midnight(self.today) + 86_400
        while model.monday(model.week_of(at)) < end:
            week = model.week_of(at)
            got = await life.m.week(week)
            wanted = model.statement(life.terms, life.rows, week)
            result = got["result"]
            both = None if result["estimated"] is None else micros(result["estimated"]) + micros(result["realized"])  # fmt: skip
            mine = {
                "worth": got["worth"],
                "flows": got["flows"],
                "result": shown(both),
                "paid": got["fees"]["by_type"]["agent"],
                "largest_move": got["allowed_vs_used"]["largest_move"]["used"],
                "busiest_day": tuple(got["allowed_vs_used"]["busiest_day"][k] for k in ("day", "used")),
            }  # fmt: skip
            found += differ(f"statement {week}", wanted, mine)
            found += await self.rows(life, week, got)
            told.append(got)
            at += 7 * 86_400
            if both is None:
                return found
            total += both + micros(got["flows"]["deposits"]) - micros(got["flows"]["withdrawals"])
        change = micros(told[-1]["worth"]["end"]) - micros(told[0]["worth"]["start"])
        if total != change:
            found.append(("law.weeks", total, change))
        in_weeks = sum(micros(week["result"]["realized"]) for week in told)
        if in_weeks != micros(realized):
            found.append(("law.realized", shown(in_weeks), realized))
        return found

    async def rows(self, life: Life, week: str, statement: Body) -> list[Difference]:
        """The rows of a week in pages of any size: their sums are the statement's, to the last digit."""
        monday = date.fromisocalendar(int(week[:4]), int(week[6:]), 1)
        period = {"since": monday.isoformat(), "until": (monday + timedelta(7)).isoformat()}
        rows, sums = await life.m.statement_rows(self.town.chance.choice((1, 3, 50)), **period)
        found = list(differ(f"rows {week}.sums", {n: statement[n] for n in sums}, sums))
        self.adjusted += [row for row in rows if row["code"] == "adjustment"]
        self.rows_read += len(rows)
        wanted = {way: value for way, value in figures_of(sums) if value is not None}
        came_to = {
            way: sum(v or 0 for row in rows for w, v in figures_of(row) if w == way)
            for way in wanted
        }
        if any(None in dict(figures_of(row)).values() for row in rows):  # worth was unknown between
            came_to = {way: v for way, v in came_to.items() if way[0] not in ("worth", "result")}
            wanted = {way: v for way, v in wanted.items() if way in came_to}
        return found + list(differ(f"rows {week}", wanted, came_to))

    def series(self, life: Life, told: dict[str, Body]) -> Iterator[Difference]:
        wanted = model.days(life.terms, life.rows, self.today)
        moves = [r for r in life.rows if r.values is not None or "amount" in r.args]
        happened = {model.day_of(r.at).isoformat() for r in moves}
        if not happened <= set(told) <= set(wanted):
            yield "series.days", sorted(told), sorted(happened)
        b, today = model.book(life.rows), self.today.isoformat()
        live = self.town.live(life)
        if live is not None and today in told:  # its last point is the read's
            wanted[today]["worth"] = shown(b.cash + sum(live.values()))
        for day in sorted(set(wanted) & set(told)):
            yield from differ(f"series {day}", wanted[day], told[day])

    # -- one owner

    async def of_owner(self, owner: Owner) -> list[Difference]:
        """All mandates of this week: the totals are theirs."""
        week = model.week_of(self.now)
        told = await self.desk.get("/me/statement", by=owner, week=week, limit=200)
        mine = [life for life in self.town.lives if life.m.owner is owner]
        each = [model.statement(life.terms, life.rows, week) for life in mine]
        wanted: Body = {}
        for part, keys in (("worth", ("start", "end")), ("flows", ("deposits", "withdrawals"))):
            wanted[part] = {
                k: None if any(e[part][k] is None for e in each) else shown(sum(micros(e[part][k]) for e in each)) for k in keys
            }  # fmt: skip
        return list(differ("totals", wanted, told["totals"]))

    # -- one agent

    async def of_agent(self, agent: Agent) -> list[Difference]:
        row = await self.desk.hall(agent)
        mine = {life.m.id: life for life in self.town.lives if life.m.agent.id == agent.id}
        found: list[Difference] = []
        for told in row["mandates"]:
            life = mine[told["public_id"]]
            found += self._window(f"hall {told['public_id']}", [life.rows], None, told)
            wanted = shown(model.book(life.rows).worth)
            if told["worth_usdc"] != wanted:
                found.append(("hall.worth", told["worth_usdc"], wanted))
        lives = [life.rows for life in mine.values()]
        for key, span in (("7d", 7), ("30d", 30), ("90d", 90), ("since", None)):
            found += self._window(f"hall {key}", lives, span, row["windows"][key])
        charts = {s["key"]: dict(s["points"]) for s in row["chart"]["series"]}
        found += self._chart(lives, charts)
        return found

    def _chart(
        self, lives: list[list[Row]], charts: dict[str, dict[str, str]]
    ) -> Iterator[Difference]:
        for day in charts.get("worth", {}):
            until = model.midnight(date.fromisoformat(day)) + 86_400
            books = [model.book(rows, until) for rows in lives]
            worth = sum(b.worth or 0 for b in books)
            result = worth - sum(b.committed for b in books)
            for key, wanted in (("worth", worth), ("net", result)):
                if charts[key].get(day) != shown(wanted):
                    yield f"chart {day}.{key}", charts[key].get(day), shown(wanted)

    def _window(
        self, name: str, lives: list[list[Row]], period: int | None, told: Body
    ) -> Iterator[Difference]:
        lives = [rows for rows in lives if any(r.name != "Mark" for r in rows)]
        if not lives:
            return
        first = min(model.day_of(min(rows).at) for rows in lives)
        since = first if period is None else max(first, self.today - timedelta(days=period - 1))
        net = sum(model.net(rows, since, self.today) for rows in lives)
        if told["net_usdc"] != shown(net):
            yield f"{name}.net", told["net_usdc"], shown(net)
        returned = model.joint(lives, since, self.today)
        self.returns += returned is not None
        self.open_returns += returned is None
        for key, wanted in zip(("twr_bps", "max_drawdown_bps"), returned or (), strict=False):
            if told[key] is None or abs(told[key] - wanted * BPS) > max(1, abs(wanted)):
                yield f"{name}.{key}", told[key], float(wanted * BPS)
        trades = sum(len(model.calls(self._within(rows, since))) for rows in lives)
        if told["trades"] != trades:
            yield f"{name}.trades", told["trades"], trades

    def _within(self, rows: list[Row], since: date) -> list[Row]:
        return [r for r in rows if model.day_of(r.at) >= since]
