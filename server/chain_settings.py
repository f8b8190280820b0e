"""Chain settings: what an operator says of one chain."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator

from domain.refusals import Refused

CREDENTIAL_MARK: Final = "may hold one"
"""The mark of a setting whose value may hold a password or a key of somebody else's service."""

UrlWithSecret = Annotated[str, CREDENTIAL_MARK]


def _checked(value: str) -> str:
    from chain.chains import EvmChains  # which most commands have no use for

    try:
        return EvmChains.address(value)
    except Refused:
        raise ValueError(
            "an address is 0x and 40 hex digits, which fit its EIP-55 checksum"
        ) from None


ADDRESS: Final = AfterValidator(_checked)


class ChainSettings(BaseModel):
    """One chain: `WALLET_CHAINS__<id>__RPC_URL` and so on."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    rpc_url: UrlWithSecret | None = None
    """JSON-RPC of a chain; without it nothing is read there."""
    rpc_urls: UrlWithSecret = ""
    """Further nodes of that chain, with commas ([nodes](operating.md#nodes))."""
    usdc: Annotated[str, ADDRESS] | None = None
    """The USDC contract; unset, Circle's on Base and Base Sepolia, and elsewhere funding is
    refused.
    """
    factory: Annotated[str, ADDRESS] | None = None
    """The contract that makes vaults; unset, none is made."""
    lens: Annotated[str, ADDRESS] | None = None
    """The contract that reads many vaults in one call; unset, they are read one by one."""
    purse_hub: Annotated[str, ADDRESS] | None = None
    """The contract that keeps purses without limits of their own; unset, no terms have one."""
    purse_deployer: Annotated[str, ADDRESS] | None = None
    """The contract that makes hubs of purses with limits; unset, no terms have such a purse."""
    confirmations: int | None = Field(default=None, ge=0, le=10_000)
    """Blocks before a log enters the ledger; unset, 24, and 0 on the development chain."""
    poll_s: int = Field(default=2, ge=1, le=3_600)
    """How often the reader looks for blocks."""
    start_block: int = Field(default=0, ge=0)
    """The block from which the factory can have logs."""
    head_age_s: int = Field(default=120, ge=5, le=86_400)
    """Seconds after which a newest block is taken for one that stands still; not on chains without
    confirmations.
    """
    issue_s: int = Field(default=300, ge=0, le=86_400)
    """Seconds for which nodes may not agree before reads say `data_issue`."""
    explorer: str | None = None
    """The block explorer that links lead to; unset, that of a known network."""
    name: str | None = Field(default=None, max_length=60)
    """The name that wallets are given; unset, that of a known network."""
    public_rpc: str | None = None
    """The RPC address that wallets are given: it is published; unset, that of a known network."""
    paymaster_url: UrlWithSecret | None = None
    """An ERC-7677 paymaster; with `WALLET_GAS_SPONSORSHIP` on, owners' smart accounts may have it
    pay for calls on the factory and on known vaults, and for nothing else. Unset, late, refusing or
    wrong: nothing is sponsored. Set limits at the paymaster too: the route asks for no key.
    """

    @field_validator(
        "rpc_url",
        "usdc",
        "factory",
        "lens",
        "purse_hub",
        "purse_deployer",
        "explorer",
        "name",
        "public_rpc",
        "paymaster_url",
        mode="before",
    )
    @classmethod
    def _empty_is_unset(cls, value: Any) -> Any:
        return value or None

    @field_validator("rpc_url", "explorer", "public_rpc", "paymaster_url")
    @classmethod
    def _is_url(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("http://", "https://")):
            raise ValueError("it starts with http:// or https://")
        return value

    @field_validator("rpc_urls")
    @classmethod
    def _are_urls(cls, value: str) -> str:
        urls = [url.strip() for url in value.split(",") if url.strip()]
        if not all(url.startswith(("http://", "https://")) for url in urls):
            raise ValueError("addresses with commas between them; each http:// or https://")
        return ",".join(urls)
