"""A typed, asynchronous client of the delegated-spending wallet."""

from wallet_client.client import WalletClient
from wallet_client.transport import Refused

__all__ = ["Refused", "WalletClient"]
