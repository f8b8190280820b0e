"""Wallets on phones that open a page in their own browser, with the form of their links."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlsplit

from app.replies import Record


@dataclass(frozen=True, slots=True)
class WalletApp:
    """A wallet, the link that opens a page in it, and where its makers publish the form.

    Shapes: in `link`, `{bare}` is the page's address without its scheme, `{once}` percent-encoded,
    `{twice}` percent-encoded again inside another link, `{site}` the percent-encoded origin.
    """

    name: str
    link: str
    source: str


WALLETS: Final = (
    WalletApp(
        "MetaMask",
        "https://link.metamask.io/dapp/{bare}",
        "https://docs.metamask.io/metamask-connect/evm/guides/metamask-exclusive/use-deeplinks/",
    ),
    WalletApp(
        "Base (Coinbase Wallet)",
        "https://go.cb-w.com/dapp?cb_url={once}",
        "https://docs.cdp.coinbase.com/coinbase-wallet/developer-guidance/mobile-dapp-integration",
    ),
    WalletApp(
        "Trust Wallet",
        "https://link.trustwallet.com/open_url?coin_id=60&url={once}",
        "https://developer.trustwallet.com/developer/develop-for-trust/deeplinking",
    ),
    WalletApp(
        "OKX Wallet",
        "https://web3.okx.com/download?deeplink=okx%3A%2F%2Fwallet%2Fdapp%2Furl%3FdappUrl%3D{twice}",
        "https://web3.okx.com/build/docs/waas/app-universal-link",
    ),
    WalletApp(
        "Phantom",
        "https://phantom.app/ul/browse/{once}?ref={site}",
        "https://docs.phantom.com/phantom-deeplinks/other-methods/browse",
    ),
)


def openings(address: str) -> Iterator[Record]:
    """Each wallet with the link that opens the page at this address in it."""
    parts, once = urlsplit(address), quote(address, safe="")
    values = {
        "bare": address.removeprefix(f"{parts.scheme}://"),
        "once": once,
        "twice": quote(once, safe=""),
        "site": quote(f"{parts.scheme}://{parts.netloc}", safe=""),
    }
    for wallet in WALLETS:
        yield Record(name=wallet.name, link=wallet.link.format(**values))
