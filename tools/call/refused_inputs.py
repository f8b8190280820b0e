"""What no input may hold: secrets, and text that no row holds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from domain.refusals import Refused, invalid, refusal


def refuse_unwritable(value: Any, path: str = "") -> None:
    """Refuse text that no database and no answer can hold: NUL, and half of a surrogate pair.

    JSON can carry both; stored, either would make every later read of the mandate fail.
    Errors: `invalid_request`.
    """
    if isinstance(value, str):
        if not _writable(value):
            shown = path.encode("ascii", "replace").decode().replace("\x00", "?")
            raise invalid(shown[:80] or "text", "text without NUL and without half surrogate pairs")
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            refuse_unwritable(name, path)
            refuse_unwritable(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list):
        for n, inner in enumerate(value):
            refuse_unwritable(inner, f"{path}.{n}")


def _writable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\x00" not in text


_SECRET_NAMES: Final = frozenset(
    [
        "apikey",
        "apisecret",
        "secret",
        "secretkey",
        "clientsecret",
        "privatekey",
        "privkey",
        "mnemonic",
        "seed",
        "seedphrase",
        "passphrase",
        "password",
        "walletsecret",
        "signingkey",
        "accesskey",
        "accesstoken",
        "authtoken",
        "bearertoken",
        "exchangekey",
        "exchangesecret",
    ]
)


_SECRET_PARTS: Final = (
    "privatekey",
    "secretkey",
    "apikey",
    "apisecret",
    "mnemonic",
    "passphrase",
    "seedphrase",
    "seedwords",
    "recoveryphrase",
)


_SECRET_ENDS: Final = (
    "secret",
    "seed",
    "password",
    "privkey",
    "apitoken",
    "accesstoken",
    "authtoken",
    "bearertoken",
)


def refuse_secrets(value: Any, path: str = "") -> None:
    """Refuse a body with a secret-shaped field at any depth, whatever its case and separators
    (contract 7).

    Errors: `secret_not_accepted`; it names the field and never repeats the value.
    """
    if isinstance(value, Mapping):
        for name, inner in value.items():
            plain = re.sub(r"[^a-z0-9]", "", str(name).lower())
            if (
                plain in _SECRET_NAMES
                or plain.endswith(_SECRET_ENDS)
                or any(part in plain for part in _SECRET_PARTS)
            ):
                raise Refused(refusal("secret_not_accepted", field=f"{path}{name}"[:80]))
            refuse_secrets(inner, f"{path}{name}.")
    elif isinstance(value, list):
        for n, inner in enumerate(value):
            refuse_secrets(inner, f"{path}{n}.")


_KEY_SHAPED: Final = re.compile(r"(?<![0-9a-fA-F])[0-9a-fA-F]{64}(?![0-9a-fA-F])")


def refuse_secret_values(
    value: Any, hash_fields: frozenset[str], path: str = "", name: str = ""
) -> None:
    """Refuse a text that holds 64 hex digits, the form of a private key, in a field where no hash
    belongs (contract 7).

    Errors: `secret_not_accepted`; it names the field and never repeats the value.
    """
    if isinstance(value, Mapping):
        for inner_name, inner in value.items():
            refuse_secret_values(inner, hash_fields, f"{path}{inner_name}.", str(inner_name))
    elif isinstance(value, list):
        for n, inner in enumerate(value):
            refuse_secret_values(inner, hash_fields, f"{path}{n}.", name)
    elif isinstance(value, str) and name not in hash_fields and _KEY_SHAPED.search(value):
        field = "text" if _KEY_SHAPED.search(path) else path.rstrip(".")
        raise Refused(refusal("secret_not_accepted", field=field[:80]))
