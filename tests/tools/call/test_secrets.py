"""Secrets are refused under any name, and as values wherever they stand."""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.refusals import Refused
from tests.world import World, drafted
from tools.model.input_policy import refuse_secrets

PHRASE = "legal winner thank year wave sausage worth useful legal winner thank yellow"
KEY = "4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318"
NAMES = [
    "api_key", "apiKey", "API-KEYS", "secret", "secrets", "Secret Values", "secretAccessKey", "aws_secret_access_key", "private_key",
    "privateKeys", "PRIV_KEY", "mnemonic", "mnemonics", "seed", "seeds", "wallet-seed", "passphrase", "passphrases", "password",
    "passwords", "db.passwd", "credential", "credentials", "keystore", "key_store", "wif", "xprv", "recovery phrase", "client_secret",
    "рrivаtе_kеу", "ѕeсret", "ｓｅｃｒｅｔ", "pássword", "s3cret", "pa55word", "pr1vate_key", "p r i v a t e k e y", "𝗺𝗻𝗲𝗺𝗼𝗻𝗶𝗰", "κeystore",
    "bearer_token", "accessTokens", "signer_key", "master-key", "recovery_words", "backup_phrase", "seedWords", "mnemonik",
    "pk", "SK", "p_key", "private", "jwt", "API-SECRET", "Seed Phrase", "binanceApiKey", "exchange_api_secret", "binanceApiSecret",
    "wallet_seed", "hmac_secret", "seed_words", "private key pem", "api_token",
]  # fmt: skip
PLAIN = [
    "secretary", "venue", "market", "seeding_note", "password_free"[9:], "access", "token", "tokens_in", "keyword", "exceeded",
    "position", "public_key", "idempotency_key", "monkey", "api", "wifi_host", "proceed", "linseed_oil",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_field_that_asks_for_a_secret_is_refused_however_it_is_spelt(name: str) -> None:
    with pytest.raises(Refused) as refused:
        refuse_secrets({"a": [{"b": {name: "hunter2"}}]})
    assert refused.value.code == "secret_not_accepted"
    assert "hunter2" not in str(refused.value.refusal.as_json())


@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_name_is_taken(name: str) -> None:
    refuse_secrets({"a": [{"b": {name: "x"}}]})


VALUES = {
    "hex": KEY, "hex with prefix": "0x" + KEY, "hex in capitals": KEY.upper(), "told": f"my private key is 0x{KEY}, keep it",
    "phrase": PHRASE, "phrase of 24": " ".join([PHRASE, PHRASE]), "phrase with commas": PHRASE.replace(" ", ", "),
    "phrase in a text": f"the words: {PHRASE.upper()} ok", "xprv": "xprv" + "9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNK" * 2,
    "wif": "5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ", "our key": "ak_" + "k" * 43, "our session": "ws_" + "s" * 43,
    "phrase numbered": " ".join(f"{n}. {word}" for n, word in enumerate(PHRASE.split(), 1)), "phrase joined": PHRASE.replace(" ", "_"),
    "phrase one a line": "\n".join(f"{n}) {word}" for n, word in enumerate(PHRASE.split(), 1)), "key in two halves": f"{KEY[:32]} {KEY[32:]}",
    "key in eight groups": "0x" + " ".join(KEY[n : n + 8] for n in range(0, 64, 8)), "key in bytes": ":".join(KEY[n : n + 2] for n in range(0, 64, 2)),
    "pk": f"pk {KEY}", "sk": f"my SK: 0x{KEY}", "halves told": f"wallet key {KEY[:32]} {KEY[32:]}, mine", "jwt": f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{'f' * 43}",
    "pem": "-----BEGIN EC PRIVATE KEY-----\nMHc", "spanish": "ábaco abdomen abeja abierto abogado abono aborto abrazo abrir abuelo abuso acabar",
}  # fmt: skip


@pytest.mark.parametrize("value", VALUES.values(), ids=list(VALUES))
def test_a_value_that_is_a_key_is_refused_whatever_its_field(value: str) -> None:
    shapes: tuple[Any, ...] = ({"note": value}, {"a": [{"b": [value]}]}, {"a": {value: 1}})
    for shape in shapes:
        with pytest.raises(Refused) as refused:
            refuse_secrets(shape)
        told = str(refused.value.refusal.as_json())
        assert value not in told
        assert KEY not in told.lower()


@pytest.mark.parametrize(
    "payload",
    [{"position": {"id": KEY}}, {"position": {"id": "0x" + KEY}}, {"target": {"market": KEY}}],
)
def test_no_part_and_no_market_goes_by_a_key(payload: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        refuse_secrets({"payload": payload})


def test_a_short_name_asks_for_a_secret_only_where_a_text_stands_in_it() -> None:
    refuse_secrets({"private": True, "pk": 7, "routes": [{"private": None}]})


def test_a_phrase_as_a_list_of_words_is_refused() -> None:
    with pytest.raises(Refused):
        refuse_secrets({"words": PHRASE.split()})


def test_hashes_signatures_calldata_and_plain_text_are_taken() -> None:
    for name in [
        "tx_hash",
        "txHash",
        "action_hash",
        "hash",
        "data",
        "callData",
        "signature",
        "digest",
    ]:
        refuse_secrets({name: "0x" + KEY})
    refuse_secrets({"target": {"market": "0x" + KEY}, "position": {"market": "0x" + KEY}})
    refuse_secrets({"position": {"position_id": "0x" + KEY, "id": "0x" + KEY[:40]}})
    refuse_secrets(
        {"runs": "8c2f1d0e-2b4a-4f53-9a1e-0d7b6c5a4f3e 1f0e9d8c-7b6a-4958-8766-5a4b3c2d1e0f"}
    )
    refuse_secrets({"note": "1. Lend it. 2. Hold 500 USDC. 3. Never buy a token. 4. Ask above 50."})
    refuse_secrets({"note": f"sold in transaction 0x{KEY}"})
    refuse_secrets({"note": "Lend up to 500 USDC for thirty days, never more than 50 a day. " * 20})


@pytest.mark.slow
@given(
    st.dictionaries(
        st.text(max_size=8),
        st.recursive(
            st.text(max_size=20) | st.integers(), lambda v: st.dictionaries(st.text(max_size=8), v)
        ),
    )
)
def test_anything_is_either_taken_or_refused(value: Any) -> None:
    with suppress(Refused):
        refuse_secrets(value)


@pytest.mark.slow
def test_looking_for_secrets_is_cheap_however_the_body_is_filled() -> None:
    bodies: dict[str, Any] = {
        "names": {f"n{n}": 1 for n in range(5_000)},
        "names in another script": {f"ѕ{n}": 1 for n in range(5_000)},
        "words": {"note": "legal winner zzz " * 15_000},
        "hex": {"note": "0x" + "ab" * 120_000},
        "letters": {"note": "k" * 250_000},
        "tokens": {"note": "-eyJ" * 60_000},
        "groups": {"a": ["ab " * 60 + "g"] * 1_000},
        "texts": {"a": ["x" * 41] * 4_900},
        "a name that is many times as long folded, for each value": {
            "\ufdfa" * 190 + "hash": ["0x" + "ab" * 32] * 3_800
        },
        "names that are many times as long folded": {
            f"{n}" + "\ufdfa" * 100: 1 for n in range(210)
        },
        "marks": {"a" + "\u0323\u0301" * 100: 1, "note": "a" + "\u0323\u0301" * 30_000},
    }
    refuse_secrets({"ѕ": "legal winner zzz " * 12})  # tables are loaded once
    for what, body in bodies.items():
        spent = []
        for _ in range(3):
            before = time.thread_time()
            refuse_secrets(body)
            spent.append(time.thread_time() - before)
        assert min(spent) < 0.1, what


@pytest.mark.anyio
@pytest.mark.parametrize("text", [PHRASE, KEY, "ak_" + "q" * 43], ids=["phrase", "key", "ours"])
async def test_a_secret_is_neither_stored_nor_logged(
    world: World, caplog: pytest.LogCaptureFixture, text: str
) -> None:
    caplog.set_level(logging.DEBUG)
    m = await drafted(world)
    calls: list[tuple[Any, str, dict[str, Any]]] = [
        (m.agent, "mandate_report_event", {"public_id": m.id, "kind": "note", "payload": {"text": text}}),
        (m.owner, "mandate_draft", {"note": text, "save": True}),
        (m.owner, "owner_agent_register", {"name": text[:60]} if len(text) < 61 else {"name": "a", "address": text}),
        (m.owner, "owner_agent_policy_put", {"agent_id": m.agent.user_id, "hold_ratio": [text]}),
    ]  # fmt: skip
    for caller, name, arguments in calls:
        reply = await world.do(name, caller, **arguments)
        assert (reply.status, reply.body["error"]) == (400, "secret_not_accepted"), name
        assert text not in str(reply.body)
    assert text not in caplog.text
    dump = await world.store.read(
        lambda uow: str([uow.sql.rows(f"SELECT * FROM {t}") for t in ("ledger_events", "mandates", "policies", "agents")])
    )  # fmt: skip
    assert text not in dump
