"""A person's account at the venue: the terms, the linking text, and the approved keys."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Literal
from urllib.parse import urlsplit

from domain.times import timestamp
from domain.trading.venue_values import ApprovedAgent, Network

KeyKind = Literal["order", "keeper"]
KeyStatus = Literal["sending", "approved", "refused", "unknown"]
CHALLENGE_GOOD_FOR: Final = timedelta(minutes=10)
CHALLENGES_OPEN: Final = 5
CHALLENGES_A_DAY: Final = 20
KeyStanding = Literal["good", "ending", "unverified", "gone", "expired", "revoked"]
KEY_ENDS_SOON: Final = timedelta(days=7)
LISTED_BY: Final = timedelta(minutes=1)  # after an approval the venue's list is late by seconds
KEY_LONGEST: Final = timedelta(days=30)
NONCE_WINDOW: Final = timedelta(minutes=5)
INTENT_LONGEST: Final = timedelta(days=30)
ZERO_ADDRESS: Final = "0x" + "00" * 20
DEFAULT_CHAIN: Final = 42_161
_SIGNED_NAME: Final = re.compile(r"(?P<name>.{1,16}) valid_until (?P<until>[0-9]{1,15})")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LETTER: Final[dict[KeyKind, str]] = {"order": "o", "keeper": "k"}
_STATEMENT: Final = (
    "Link this wallet as an own account at the venue to the person signed in with {account}."
    " This signature does not move funds and does not allow trading."
)


@dataclass(frozen=True, slots=True)
class OwnTerms:
    """The terms of linking an own account; a change of the text is a new version."""

    version: int
    text_en: str
    effective_at: datetime

    @property
    def sha256(self) -> str:
        """SHA-256 of the text in UTF-8, 64 hex digits."""
        return hashlib.sha256(self.text_en.encode()).hexdigest()


TERMS: Final = OwnTerms(
    version=1,
    effective_at=datetime(2026, 11, 21, tzinfo=UTC),
    text_en="""\
Own account: terms of linking

1. Your account stays yours. The venue holds your funds; this service holds none of them and stores
no key of yours.
2. Linking proves by a signature that a wallet is yours. The signature moves no funds and allows no
trading. One wallet
   is linked to one person; only an operator moves a link.
3. An order key is made in your browser and stays there. You approve it at the venue with your
wallet; this service
   passes that one approval on and no other action. A key lasts 30 days at most.
4. The venue knows no limits for an approved key. While it is approved it can place and cancel
orders of any size,
   change leverage and move funds between your own balances at the venue; it cannot withdraw them.
   Keep your browser
   safe, and revoke a key that you no longer use: its end alone may not stop it at the venue.
5. A keeper key is optional and off unless you approve it. It lives in a signer apart from the
service, which signs
   nothing but reduce-only closes and cancellations for markets that you named in mandate terms
   signed by you. That
   signer is the only fence around this key, because the venue has none.
6. Without a keeper key the stop line of a mandate with a venue market only warns.
7. A builder fee is charged on opening orders only after you approved it at the venue, never on
closes.
8. Figures come from the venue and may be late; every answer says when it was read. Index and other
products may not be
   open to you where you live; the venue's own rules apply.
""",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A wallet that a person proved to own, on one network."""

    link_id: str
    user_id: str
    network: Network
    wallet: str
    terms_version: int
    linked_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkChallenge:
    """A text that waits for the wallet's signature; it can be tried once."""

    challenge_id: str
    user_id: str
    network: Network
    address: str
    message: str
    terms_version: int
    terms_sha256: str
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentKey:
    """An agent key that a linked wallet approved, or wanted to. An address is never used twice.

    Shapes: `name` without its end; `agent` in lower case. `listed_at` is when the venue last named
    it as approved.
    """

    approval_id: str
    link_id: str
    kind: KeyKind
    agent: str
    name: str
    nonce: int
    signature_chain_id: str
    valid_until: datetime
    status: KeyStatus
    requested_at: datetime
    checked_at: datetime | None = None
    listed: bool = False
    ended_at: datetime | None = None

    def alive(self, now: datetime) -> bool:
        """True until it ended here or its time is over by our clock; the venue's end is lazy."""
        return self.ended_at is None and now < self.valid_until

    def spent(self, now: datetime) -> bool:
        """True where it signs no more: it ended, or was never listed and its nonce is too old."""
        is_unlisted = self.status != "approved" and not self.listed
        return not self.alive(now) or (is_unlisted and now - self.requested_at > 2 * NONCE_WINDOW)


def link_text(
    *,
    base_url: str,
    account: str,
    address: str,
    chain_id: int,
    network: Network,
    nonce: str,
    terms_sha256: str,
    issued: datetime,
    expires: datetime,
) -> str:
    """The EIP-4361 text that links a wallet.

    The text names the account that it links to; else a victim's signature would link the wallet,
    with its place on the allowlist, to a thief. Source: EIP-4361; trading 00.11.
    """
    domain = urlsplit(base_url).netloc
    return (
        f"{domain} wants you to sign in with your Ethereum account:\n{address}\n\n"
        f"{_STATEMENT.format(account=account)}\n\n"
        f"URI: {base_url}\nVersion: 1\nChain ID: {chain_id}\nNonce: {nonce}\n"
        f"Issued At: {timestamp(issued)}\nExpiration Time: {timestamp(expires)}\n"
        "Request ID: own-link\n"
        f"Resources:\n- urn:terms:sha256:{terms_sha256}\n- urn:venue:{network}"
    )


def agent_name(user_id: str, network: Network, kind: KeyKind) -> str:
    """The stable name of a person's key at the venue: enabling again replaces the old one."""
    mark = hashlib.sha256(f"{user_id}|{network}|{kind}".encode()).hexdigest()[:6]
    return f"wsvc-{_LETTER[kind]}-{mark}"


def milliseconds(at: datetime) -> int:
    """Milliseconds since 1970, rounded down."""
    return (at - _EPOCH) // timedelta(milliseconds=1)


def at_milliseconds(ms: int) -> datetime:
    """The time so many milliseconds after 1970 began."""
    return _EPOCH + timedelta(milliseconds=ms)


def end_in(text: str, name: str) -> datetime | None:
    """The end in a signed name; None where it is not `<name> valid_until <ms>`."""
    match = _SIGNED_NAME.fullmatch(text)
    if match is None or match["name"] != name or str(int(match["until"])) != match["until"]:
        return None
    return at_milliseconds(int(match["until"]))


def listed(key: AgentKey, agents: Sequence[ApprovedAgent]) -> ApprovedAgent | None:
    """The venue's own line of a key: of its name and its address."""
    return next((a for a in agents if a.address == key.agent and a.name == key.name), None)


def usable(key: AgentKey | None, agents: Sequence[ApprovedAgent] | None, now: datetime) -> bool:
    """True where a key may sign: alive here, and named by the venue in its last answer (`agents`,
    None: what is stored).

    A key that ended here a moment ago is dead at once, though the venue may list it for seconds.
    """
    if key is None or not key.alive(now):
        return False
    if agents is None:
        return key.listed
    line = listed(key, agents)
    return line is not None and (line.valid_until is None or now < line.valid_until)


def key_standing(key: AgentKey, *, enabled: bool, now: datetime) -> KeyStanding:
    """The display state of a key.

    `gone`: the venue does not list it well after the approval: it was revoked there, or
    another took its place. `ending`: it signs, and ends within a week.
    """
    if key.ended_at is not None:
        return "revoked"
    if now >= key.valid_until:
        return "expired"
    if enabled:
        return "ending" if key.valid_until - now < KEY_ENDS_SOON else "good"
    was_checked = key.checked_at is not None and key.checked_at - key.requested_at > LISTED_BY
    return "gone" if was_checked and not key.listed else "unverified"
