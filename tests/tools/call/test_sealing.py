"""The key ring seals what leaves the service and comes back, in whichever process."""

from __future__ import annotations

import pytest

from tools.model.sealing import (
    MOST_KEYS,
    MOST_TOKEN_CHARS,
    KeyRing,
    SealBroken,
    ephemeral_ring,
    key_ring,
)

OLD, NEW, OTHER = "o" * 32, "n" * 40, "z" * 32


def test_another_process_with_the_same_keys_opens_what_was_sealed() -> None:
    token = key_ring(NEW).seal("ask", b"r_1")
    assert key_ring(NEW).open("ask", token) == b"r_1"
    assert b"r_1" not in token.encode()
    assert set(token) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")


def test_keys_are_changed_without_a_gap() -> None:
    before, between, after, last = (
        key_ring(text) for text in (OLD, f"{OLD},{NEW}", f"{NEW},\n{OLD}\n", NEW)
    )
    for sealed_by, opened_by in ((before, between), (between, before), (between, after), (after, between), (after, last)):  # fmt: skip
        assert opened_by.open("ask", sealed_by.seal("ask", b"x")) == b"x"
    with pytest.raises(SealBroken):
        last.open("ask", before.seal("ask", b"x"))


def test_a_token_opens_for_its_purpose_and_ring_alone() -> None:
    ring = key_ring(NEW)
    token = ring.seal("ask", b"x")
    for other, purpose in ((key_ring(OTHER), "ask"), (ephemeral_ring(), "ask"), (ring, "client")):
        with pytest.raises(SealBroken):
            other.open(purpose, token)


@pytest.mark.parametrize(
    "text", ["", "s1.", "s1.====", "s1.AAAA", "s1.é", "s2.AAAA", "s1." + "A" * MOST_TOKEN_CHARS]
)
def test_what_is_no_token_is_refused(text: str) -> None:
    with pytest.raises(SealBroken):
        key_ring(NEW).open("ask", text)


def test_every_changed_character_breaks_the_seal() -> None:
    ring = key_ring(NEW)
    token = ring.seal("ask", b"25 USDC")
    for at, char in enumerate(token):
        for changed in (
            token[:at] + ("A" if char != "A" else "B") + token[at + 1 :],
            token[:at] + token[at + 1 :],
            token[:at] + "\n" + token[at:],
        ):
            with pytest.raises(SealBroken):
                ring.open("ask", changed)


@pytest.mark.parametrize(
    ("text", "reason"),
    [("", "1 to"), (" , ", "1 to"), ("short", "32 bytes"), (f"{OLD},short", "32 bytes"), (f"{OLD},{OLD}", "twice"),
     (",".join(f"{n}" * 32 for n in range(MOST_KEYS + 1)), "1 to")],
)  # fmt: skip
def test_a_ring_that_cannot_be_is_refused_without_its_keys(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as refused:
        key_ring(text)
    assert "short" not in str(refused.value)
    assert OLD not in str(refused.value)


def test_a_ring_does_not_show_its_keys() -> None:
    ring = KeyRing((NEW.encode(),))
    ring.seal("ask", b"x")
    assert NEW not in repr(ring)
