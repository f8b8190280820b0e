"""Rate limits: the weight of a request, and the two budgets: of an IP address, and of an account.

Source: venue page 1.1 (the weights), 1.2 and 1.4.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from devtools.devvenue import refusals as say
from devtools.devvenue.accounts import Account
from devtools.devvenue.refusals import Refused
from devtools.devvenue.state import State
from devtools.devvenue.wires import Action, Cancel, CancelByCloid, PlaceOrders

MINUTE_MS: Final = 60_000
INFO_WEIGHT: Final = 20
LIGHT: Final = {
    "allMids": 2,
    "l2Book": 2,
    "clearinghouseState": 2,
    "spotClearinghouseState": 2,
    "orderStatus": 2,
    "exchangeStatus": 2,
    "userRole": 60,
}
PER_ITEMS: Final = 20
GROWING: Final = {"fundingHistory", "historicalOrders", "userFills", "userFillsByTime"}
PER_ORDERS: Final = 40
CANCEL_EXTRA: Final = 100_000
FREE_EVERY_MS: Final = 10_000
EXPIRED_COSTS: Final = 5


def info_weight(kind: str) -> int:
    """The weight of an info request before its answer is known."""
    return LIGHT.get(kind, INFO_WEIGHT)


def answer_weight(kind: str, answer: object) -> int:
    """The weight that a long answer adds: one per twenty items."""
    return len(answer) // PER_ITEMS if kind in GROWING and isinstance(answer, list) else 0


def batch_of(action: Action) -> int:
    """Count the orders or cancels of an action; at least one."""
    if isinstance(action, PlaceOrders):
        return max(1, len(action.orders))
    return max(1, len(action.cancels)) if isinstance(action, (Cancel, CancelByCloid)) else 1


def exchange_weight(action: Action) -> int:
    """The weight of an action: one, and one more for each forty orders."""
    return 1 + batch_of(action) // PER_ORDERS


@dataclass(slots=True)
class IpBudget:
    """Weight spent by each address within the last minute."""

    spent: dict[str, deque[tuple[int, int]]] = field(default_factory=dict)

    def used(self, ip: str, now: int) -> int:
        """Weight within the last minute."""
        rows = self.spent.setdefault(ip, deque())
        while rows and rows[0][0] <= now - MINUTE_MS:
            rows.popleft()
        return sum(weight for _, weight in rows)

    def take(self, ip: str, now: int, weight: int, budget: int | None) -> bool:
        """Spend, unless it is too much."""
        if budget is not None and self.used(ip, now) + weight > budget:
            return False
        self.charge(ip, now, weight)
        return True

    def charge(self, ip: str, now: int, weight: int) -> None:
        """Spend, whatever there is: what an answer weighs is known only after it was made."""
        if weight:
            self.spent.setdefault(ip, deque()).append((now, weight))


def count_requests(state: State, account: Account, action: Action) -> None:
    """Count an action against the account's budget: it grows with the traded volume. Errors:
    `Refused` when it is spent.
    """
    count, cap = batch_of(action), state.rules.request_buffer + int(account.volume)
    limit = cap
    if isinstance(action, (Cancel, CancelByCloid)):
        limit = min(cap + CANCEL_EXTRA, cap * 2)
    if account.requests + count > limit:
        if state.now() - account.last_free_request < FREE_EVERY_MS:
            raise Refused(say.too_many_requests(account.requests, cap, account.volume))
        account.last_free_request = state.now()
    account.requests += count
