"""A typed, asynchronous client of the delegated-spending wallet."""

from wallet_client.client import WalletClient
from wallet_client.paying import AnswerTooLong, Fetched, NotPaid, fetch_with_mandate
from wallet_client.transport import Refused

__all__ = [
    "AnswerTooLong",
    "Fetched",
    "NotPaid",
    "Refused",
    "WalletClient",
    "fetch_with_mandate",
]
