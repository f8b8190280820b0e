"""Notice choices: what an owner is told, by which channel, and the hours in which nothing is."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import Final, Literal, get_args

NoticeKind = Literal[
    "approval.asked", "approval.decided", "cap.reached", "mandate.acceptance_ended",
    "mandate.paused", "mandate.resumed", "mandate.stop_line", "mandate.stopped",
    "mandate.settled", "deposit.seen", "transfer.in", "order.asked", "order.unknown",
]  # fmt: skip
NOTICE_KINDS: Final[tuple[NoticeKind, ...]] = get_args(NoticeKind)
Channel = Literal["webhook", "push", "email"]
CHANNELS: Final[tuple[Channel, ...]] = get_args(Channel)
MessageKind = NoticeKind | Literal["notice.test", "email.verify"]
"""What may be sent: a notice, the test of a channel, the link that verifies an address."""
TEST: Final = "notice.test"
VERIFY: Final = "email.verify"
# What asks for a look or an answer; a person is not woken for the rest until it is asked for.
ASKING: Final[tuple[NoticeKind, ...]] = (
    "approval.asked", "cap.reached", "mandate.stop_line", "mandate.stopped", "transfer.in",
    "order.asked", "order.unknown",
)  # fmt: skip
# What comes at once, also to a place that did not answer before.
URGENT: Final[frozenset[MessageKind]] = frozenset(
    {"approval.asked", "mandate.stop_line", "order.asked", "order.unknown", TEST}
)
# What lapses without its owner's answer.
_LAPSING: Final = frozenset({"approval.asked", "order.asked"})


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietHours:
    """The hours of each day in which browsers and mailboxes are told nothing.

    Units: minutes after midnight in the owner's `zone` (IANA); `begins` inclusive, `ends`
    exclusive, and never equal.
    """

    zone: str
    begins: int
    ends: int
    approvals_break_through: bool = True

    def over_at(self, at: datetime, zone: tzinfo) -> datetime | None:
        """The end of the quiet hours that a time falls into; None outside of them. `zone` is what
        the name of the owner's zone means.
        """
        local = at.astimezone(zone)
        minute = local.hour * 60 + local.minute
        over_night = self.begins > self.ends
        inside = (
            minute >= self.begins or minute < self.ends
            if over_night
            else self.begins <= minute < self.ends
        )
        if not inside:
            return None
        day = local.date() + timedelta(days=over_night and minute >= self.begins)
        clock = time(self.ends // 60, self.ends % 60)
        return max(at, datetime.combine(day, clock, zone).astimezone(UTC))


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeSettings:
    """One owner's choices. A channel without kinds tells nothing; `offered` are the kinds there
    were to choose from.
    """

    webhook: tuple[NoticeKind, ...] = NOTICE_KINDS
    push: tuple[NoticeKind, ...] = ASKING
    email: tuple[NoticeKind, ...] = ASKING
    quiet: QuietHours | None = field(default=None)
    offered: tuple[NoticeKind, ...] = NOTICE_KINDS

    def with_new_kinds(self) -> NoticeSettings:
        """The choices with what was never offered as it is before any choice: nobody switched off
        a kind that came later.
        """
        new = frozenset(NOTICE_KINDS).difference(self.offered)
        usual = NoticeSettings()

        def kinds_now(channel: Channel) -> tuple[NoticeKind, ...]:
            kinds = {*self.kinds(channel), *new.intersection(usual.kinds(channel))}
            return tuple(kind for kind in NOTICE_KINDS if kind in kinds)

        webhook, push, email = map(kinds_now, CHANNELS)
        return replace(self, webhook=webhook, push=push, email=email, offered=NOTICE_KINDS)

    def kinds(self, channel: Channel) -> tuple[NoticeKind, ...]:
        """The kinds of a channel."""
        return {"webhook": self.webhook, "push": self.push, "email": self.email}[channel]

    def is_told(self, channel: Channel, kind: MessageKind) -> bool:
        """True for what a channel tells; what its owner asks for at this moment it always tells."""
        return kind in (TEST, VERIFY) or kind in self.kinds(channel)

    def hours_for(self, channel: Channel, kind: MessageKind) -> QuietHours | None:
        """The quiet hours that a message keeps to: a program's are none."""
        quiet = self.quiet
        if quiet is None or channel == "webhook" or kind in (TEST, VERIFY):
            return None
        through = kind in _LAPSING and quiet.approvals_break_through
        return None if through else quiet
