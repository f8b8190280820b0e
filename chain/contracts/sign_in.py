"""Sign-in text (EIP-4361): written by the service and compared, never parsed."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from urllib.parse import urlsplit

from domain.times import timestamp

STATEMENT: Final = "Sign in to your delegated-spending wallet. This signature moves no money."
NONCE_LONGEST: Final = 64
_NONCE: Final = "Nonce: "


class SiweSignIn:
    """The `SignInVerifier` port (contract 2). The service writes the whole text, looks it up by its
    nonce and compares it, so that no parser of a stranger's text is needed.
    """

    def message(
        self,
        *,
        address: str,
        chain_id: int,
        uri: str,
        nonce: str,
        issued: datetime,
        expires: datetime,
    ) -> str:
        """Write the message to sign; its domain is the host of `uri`.

        Shapes: `uri` is an RFC 3986 URI, as the settings check; `nonce` is 8 to 64 ASCII letters
        and digits.
        Source: EIP-4361, "Message Format".
        """
        from eth_utils.address import to_checksum_address

        url = urlsplit(uri)
        return "\n".join(
            (
                f"{url.scheme}://{url.netloc} wants you to sign in with your Ethereum account:",
                to_checksum_address(address),
                "",
                STATEMENT,
                "",
                f"URI: {uri}",
                "Version: 1",
                f"Chain ID: {chain_id}",
                f"{_NONCE}{nonce}",
                f"Issued At: {timestamp(issued)}",
                f"Expiration Time: {timestamp(expires)}",
            )
        )

    def nonce(self, text: str) -> str | None:
        """Extract the value of the first nonce line; None for a text that this service cannot have
        written.

        One search for a fixed string and a read of at most a nonce's length behind it: linear in
        the length of any text.
        """
        nonce = text.partition("\n" + _NONCE)[2][: NONCE_LONGEST + 1].partition("\n")[0]
        return (
            nonce if len(nonce) <= NONCE_LONGEST and nonce.isascii() and nonce.isalnum() else None
        )

    def digest(self, text: str) -> str:
        """EIP-191 hash that `personal_sign` signs, 0x hex."""
        # It takes long to load, and a start waits for nobody who signs in.
        from eth_account.messages import _hash_eip191_message, encode_defunct

        return "0x" + bytes(_hash_eip191_message(encode_defunct(text=text))).hex()
