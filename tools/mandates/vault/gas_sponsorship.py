"""Gas sponsorship for owners' smart accounts: an ERC-7677 service in front of the operator's
paymaster.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from pydantic import Field

from domain.mandates.actions import selector_of
from domain.mandates.targets import NOT_LISTED
from domain.ports import Chain
from domain.refusals import Refused, invalid, refusal
from domain.wire_fields import JsonObject
from storage.unit_of_work import UnitOfWork
from tools.model.fields import ChainId
from tools.model.operation import (
    AnyContext,
    Caller,
    Deps,
    ExternalEffect,
    Operation,
    RequestContext,
    RequestModel,
    ResponseModel,
)

APPROVE: Final = "0x095ea7b3"  # approve(address,uint256), EIP-20


BATCH_MAX: Final = 8


class Sponsor(RequestModel):
    """One JSON-RPC request of a wallet (ERC-7677)."""

    chain_id: ChainId
    jsonrpc: Literal["2.0"]
    id: int | str | None = None
    method: Literal["pm_getPaymasterStubData", "pm_getPaymasterData"]
    params: list[Any] = Field(
        min_length=3,
        max_length=4,
        description="[userOperation, entryPoint, chainId, context]",
        examples=[[{"callData": "0x"}, "0x" + "71" * 20, "0x14a34", {}]],
    )


class Sponsored(ResponseModel):
    """The JSON-RPC answer."""

    jsonrpc: Literal["2.0"]
    id: int | str | None
    result: dict[str, object] = Field(description="the paymaster's own words, passed on")


def allowed(uow: UnitOfWork, ctx: RequestContext[Sponsor, None]) -> Sponsor:
    """A request for calls that only set up, fund, steer or leave a vault of ours.

    Errors: `not_configured` while it is off or no paymaster is set, `target_not_allowed` for any
    other call.
    """
    request, chain = ctx.request, ctx.chains.get(ctx.request.chain_id)
    if not ctx.switches.gas_sponsorship or not chain.sponsors:
        what = f"gas sponsorship on chain {request.chain_id}"
        raise Refused(refusal("not_configured", what=what))
    op, entry_point, raw_chain_id = request.params[:3]
    data = op.get("callData") if isinstance(op, dict) else None
    if not isinstance(data, str) or len(data) > 65_536:
        raise invalid("params.0", "a user operation with callData")
    if not isinstance(entry_point, str) or raw_chain_id != hex(request.chain_id):
        raise invalid("params.2", "the chain id of the path, as 0x hex")
    _only_ours(chain, set(uow.chainlog.vaults(request.chain_id)), data)
    return request


async def sponsor(deps: Deps, caller: Caller, request: Sponsor) -> JsonObject:
    """Pass the request on."""
    chain, entry_point = deps.chains.get(request.chain_id), deps.chains.address(request.params[1])
    return await chain.paymaster_data(request.method, request.params[0], entry_point)


def answer(
    uow: UnitOfWork,
    ctx: RequestContext[Sponsor, None],
    request: Sponsor,
    result: Mapping[str, object],
) -> Sponsored:
    """The paymaster's answer as JSON-RPC."""
    return Sponsored(jsonrpc="2.0", id=request.id, result=dict(result))


def _only_ours(chain: Chain, vaults: set[str], call_data: str) -> None:
    """Refuse to pay for anything but the factory, known vaults, and allowances of USDC for
    those.
    """
    calls = chain.inner_calls(call_data)
    if not calls or len(calls) > BATCH_MAX:
        raise _not_listed("an account call of an unknown form", call_data[:10])
    for call in calls:
        selector = selector_of(call.data)
        ours = call.to == chain.factory or call.to.lower() in vaults
        approves = call.to == chain.usdc and selector == APPROVE
        allowance = approves and ("0x" + call.data[34:74]).lower() in vaults
        if call.value or not (ours or allowance):
            raise _not_listed(call.to, selector)


def _not_listed(target: str, selector: str) -> Refused:
    return Refused(refusal("target_not_allowed", target=target, selector=selector, why=NOT_LISTED))


class PaymasterService(ResponseModel):
    """The URL at which the paymaster of ERC-7677 answers."""

    url: str


class Capabilities(ResponseModel):
    """The wallet capabilities for gas sponsorship (EIP-5792)."""

    paymaster: PaymasterService = Field(alias="paymasterService")


def capabilities(ctx: AnyContext, chain: Chain) -> Capabilities | None:
    """The wallet capabilities for gas sponsorship (EIP-5792 `paymasterService`); None while there
    is none.
    """
    if not ctx.switches.gas_sponsorship or not chain.sponsors:
        return None
    url = f"{ctx.config.base_url}/wallet/paymaster/{chain.chain_id}"
    return Capabilities(paymasterService=PaymasterService(url=url))


OPERATIONS: Final = (
    Operation(
        name="gas_sponsor",
        title="Sponsor gas",
        summary="ERC-7677 paymaster service for calls that set up, fund, steer or leave a vault; "
        "off by default.",
        auth="open",
        route=("POST", "/wallet/paymaster/{chain_id}"),
        request_model=Sponsor,
        response_model=Sponsored,
        effect=ExternalEffect(begin=allowed, act=sponsor, finish=answer),
        family="chain",
        open_world=True,
        refusals=("not_configured", "target_not_allowed", "invalid_address", "chain_unavailable"),
    ),
)
