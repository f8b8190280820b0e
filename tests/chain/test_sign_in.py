"""The text that signs a person in: siwe is the oracle that ours is EIP-4361; anybody's text costs a bounded look."""

from __future__ import annotations

import string
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import FrameType
from typing import Any

import pytest
from eth_account import Account
from eth_account.messages import defunct_hash_message, encode_defunct
from eth_utils import to_checksum_address
from hypothesis import given, settings
from hypothesis import strategies as st
from siwe.siwe import ISO8601Datetime, SiweMessage, VersionEnum

from chain.contracts import sign_in
from chain.contracts.sign_in import NONCE_LONGEST, STATEMENT, SiweSignIn
from domain.times import timestamp

AT = datetime(2026, 11, 20, 12, 0, 0, 123_000, tzinfo=UTC)
ADDRESS = "0x" + "ab" * 20
NONCES = st.text(string.ascii_letters + string.digits, min_size=8, max_size=NONCE_LONGEST)
URIS = [
    "http://127.0.0.1:8402", "http://localhost", "http://[::1]:8402", "https://wallet.example", "https://wallet.example:8443",
    "https://a.b-c.wallet.example/under/a/path", "https://xn--bcher-kva.example", "https://wallet.example/~a/b;c=1/%20",
]  # fmt: skip


def written(**changes: Any) -> str:
    told = {
        "address": ADDRESS,
        "chain_id": 1,
        "uri": URIS[0],
        "nonce": "nabcdefgh23",
        "issued": AT,
        "expires": AT + timedelta(minutes=5),
    }
    return SiweSignIn().message(**told | changes)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(
    address=st.binary(min_size=20, max_size=20),
    chain_id=st.integers(1, 2**53),
    uri=st.sampled_from(URIS),
    nonce=NONCES,
    later=st.timedeltas(timedelta(days=-9_000), timedelta(days=60_000)),
)
def test_every_text_of_ours_is_eip_4361_and_says_what_it_was_asked_to(
    address: bytes, chain_id: int, uri: str, nonce: str, later: timedelta
) -> None:
    issued = AT + later
    text = written(
        address="0x" + address.hex(),
        chain_id=chain_id,
        uri=uri,
        nonce=nonce,
        issued=issued,
        expires=issued + timedelta(minutes=5),
    )
    scheme, _, rest = uri.partition("://")
    meant = SiweMessage(
        scheme=scheme, domain=rest.partition("/")[0], address=to_checksum_address(address), statement=STATEMENT, uri=uri,
        version=VersionEnum.one, chain_id=chain_id, nonce=nonce, issued_at=ISO8601Datetime(timestamp(issued)),
        expiration_time=ISO8601Datetime(timestamp(issued + timedelta(minutes=5))),
    )  # fmt: skip
    assert SiweMessage.from_message(text) == meant
    assert SiweMessage.from_message(text, abnf=False) == meant
    assert text == meant.prepare_message()
    assert SiweSignIn().nonce(text) == nonce


def test_the_oracle_can_say_no() -> None:
    for text in (
        written() + "\n",
        written(nonce="short"),
        written().replace("Version: 1", "Version: 2"),
        written(uri="https://bücher.example"),
    ):
        with pytest.raises(ValueError):
            SiweMessage.from_message(text)


def test_the_digest_is_what_a_wallet_signs() -> None:
    account = Account.from_key("0x" + "42" * 32)
    text = written(address=account.address)
    assert SiweSignIn().digest(text) == "0x" + bytes(defunct_hash_message(text=text)).hex()
    signature = account.sign_message(encode_defunct(text=text)).signature
    SiweMessage.from_message(text).verify(signature, timestamp=AT)


HOSTILE = [
    "0", "\n", "\r\n", "\r", " ", "Nonce: ", "\nNonce: ", "\nNonce: a", "\n\nNonce:  ", "http://", "a:", "[::1]", "é", "\u2028", "N", "\nN",
    "x wants you to sign in with your Ethereum account:\n",
]  # fmt: skip


def steps(work: Callable[[], object]) -> int:
    """How many calls and lines of the sign-in text ran; what one call of C costs is not seen, nor
    what the garbage collector calls meanwhile.
    """
    seen = 0

    def trace(frame: FrameType, event: str, arg: object) -> object:
        nonlocal seen
        if frame.f_code.co_filename != sign_in.__file__:
            return None
        seen += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        work()
    finally:
        sys.settrace(before)
    return seen


@pytest.mark.parametrize("piece", HOSTILE)
def test_looking_for_a_nonce_takes_the_same_few_steps_in_a_text_of_any_length(piece: str) -> None:
    counts = set()
    for length in (200, 2_000, 4_000, 8_000, 250_000):
        text = (piece * length)[:length]
        counts.add(steps(lambda text=text: SiweSignIn().nonce(text)))  # type: ignore[misc]
    assert len(counts) == 1
    assert counts.pop() < 20


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("\nNonce: abc", "abc"),
        ("\nNonce: abc\nNonce: def", "abc"),
        ("\nNonce: abc ", None),
        ("\nNonce:  abc", None),
        ("\nNonce: ", None),
        ("\nNonce: \nNonce: abc", None),
        ("\nnonce: abc", None),
        ("Nonce: abc", None),
        ("\nNonce: é1", None),
        ("\nNonce: a'b", None),
        ("\nNonce: " + "a" * NONCE_LONGEST, "a" * NONCE_LONGEST),
        ("\nNonce: " + "a" * (NONCE_LONGEST + 1), None),
        ("", None),
    ],
)
def test_a_nonce_is_a_whole_line_of_letters_and_digits(text: str, found: str | None) -> None:
    assert SiweSignIn().nonce(text) == found
