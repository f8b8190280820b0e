"""EIP-4361 sign-in messages, written and read with the siwe library."""

from __future__ import annotations

from datetime import datetime
from urllib.parse import urlsplit

from eth_account.messages import _hash_eip191_message, encode_defunct
from eth_utils.address import to_checksum_address
from siwe.siwe import ISO8601Datetime, SiweMessage, VersionEnum

from domain.facts import SignInMessage
from domain.times import timestamp

STATEMENT = "Sign in to your delegated-spending wallet. This signature moves no money."


class SiweSignIn:
    """The `SignIn` port (contract 2)."""

    def message(self, *, address: str, chain_id: int, uri: str, nonce: str, issued: datetime, expires: datetime) -> str:
        """Write the message to sign; its domain is the host of `uri`."""
        parts = urlsplit(uri)
        return SiweMessage(
            scheme=parts.scheme,
            domain=parts.netloc,
            address=to_checksum_address(address),
            statement=STATEMENT,
            uri=uri,
            version=VersionEnum.one,
            chain_id=chain_id,
            nonce=nonce,
            issued_at=ISO8601Datetime(timestamp(issued)),
            expiration_time=ISO8601Datetime(timestamp(expires)),
        ).prepare_message()

    def read(self, text: str) -> SignInMessage | None:
        """Parse a message; None when it is not one."""
        try:
            parsed = SiweMessage.from_message(text)
        except ValueError:
            return None
        return SignInMessage(parsed.address, parsed.chain_id, parsed.domain, str(parsed.uri), parsed.nonce)

    def digest(self, text: str) -> str:
        """EIP-191 hash that `personal_sign` signs, 0x hex."""
        return "0x" + bytes(_hash_eip191_message(encode_defunct(text=text))).hex()
