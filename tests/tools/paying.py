"""Mandates with purses."""

from __future__ import annotations

from typing import Any

from chain.contracts import abi_codec
from domain.money import Usdc
from tests.world import CHAIN_ID, Mandated, World, working
from tools.model.serialization import wire


def paid_targets(**purse: Any) -> list[dict[str, Any]]:
    """Terms that let an agent pay."""
    return [{"kind": "vault"}, {"kind": "x402", "purse": purse}]


async def paying(
    world: World,
    *,
    fund: str | None = "20",
    purse: dict[str, Any] | None = None,
    targets: list[dict[str, Any]] | None = None,
    **terms: Any,
) -> Mandated:
    """A working mandate with a purse, which has some USDC in it."""
    m = await working(world, allowed_targets=targets or paid_targets(**(purse or {})), **terms)
    if fund is not None:
        await funded(m, fund)
    return m


async def hub_of(m: Mandated) -> str:
    """The hub of the mandate's purse."""
    entries = (await m.read())["mandate"]["allowed_targets"]
    (hub,) = {t["purse"]["hub"] for t in entries if "purse" in t}
    return str(hub)


async def funded(m: Mandated, amount: str) -> None:
    """Let the agent put USDC into the purse."""
    chain, usdc = m.world.chains.get(CHAIN_ID), Usdc.parse(amount)
    data = chain.purse_call("fund", usdc)
    call = chain.vault_call(m.vault, "execute", await hub_of(m), data, usdc)
    await m.recorded(m.agent_wallet, dict(wire(call)))


PAYEE = "0x00000000000000000000000000000000000000b2"


def required(world: World, amount: str, /, **changes: Any) -> dict[str, Any]:
    """A seller's 402, in the form of x402 version 2."""
    offer = {
        "scheme": "exact", "network": f"eip155:{CHAIN_ID}", "amount": str(Usdc.parse(amount).micros),
        "asset": world.evm.usdc, "payTo": PAYEE, "maxTimeoutSeconds": 60,
        "extra": {"name": "USDC", "version": "2"},
    } | changes  # fmt: skip
    resource = {
        "url": "https://data.example/report",
        "description": "A report",
        "mimeType": "text/plain",
    }
    return {"x402Version": 2, "error": "payment required", "resource": resource, "accepts": [offer]}


async def paid(m: Mandated, amount: str, **more: Any) -> dict[str, Any]:
    """A payment that the agent signed: its answer."""
    asked = {
        "payment_required": required(m.world, amount),
        "max_amount": amount,
        "why": "data",
    } | more
    made = await m.as_agent("mandate_pay", **asked)
    assert made.status == 200, made.body
    signature = m.agent_wallet.sign_typed(made.body["typed_data"])
    told = await m.as_agent("mandate_pay", **asked, signature=signature)
    assert told.status == 200, told.body
    return dict(told.body)


async def settled(world: World, payment: dict[str, Any]) -> bool:
    """Let a facilitator settle a payment; whether the token takes it."""
    a = payment["payload"]["authorization"]
    words = (
        a["from"],
        a["to"],
        int(a["value"]),
        int(a["validAfter"]),
        int(a["validBefore"]),
        a["nonce"],
    )
    types = "address,address,uint256,uint256,uint256,bytes32,bytes"
    signature = bytes.fromhex(payment["payload"]["signature"][2:])
    data = abi_codec.function_call(f"transferWithAuthorization({types})", (*words, signature))
    call = {"chain_id": CHAIN_ID, "to": world.evm.usdc, "data": data, "value": "0"}
    ok, _ = await world.mined(world.wallets[0], call)
    return ok


def balance(world: World, holder: str) -> Usdc:
    """USDC of a holder."""
    data = abi_codec.calldata("TestUSDC", "balanceOf", (holder,))
    return Usdc(int.from_bytes(world.evm.chain.call({"to": world.evm.usdc, "data": data}), "big"))
