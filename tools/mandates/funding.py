"""The money that goes into a vault: how much fits, and the calls that bring it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from pydantic import Field

from domain.facts import Call, Simulation, VaultState
from domain.mandates.mandate import Mandate, Status
from domain.money import ZERO, Usdc
from domain.ports import Chain
from domain.refusals import Refused, refusal
from domain.times import timestamp
from domain.wire import said
from storage.unit_of_work import UnitOfWork
from tools.call.access import peek, seen_mandate
from tools.call.case import (
    Facts,
    chain_if_named,
    gather_mandate,
    named_chain,
    simulation_if_readable,
)
from tools.call.fields import OneMandate
from tools.call.operation import Ask, Caller, Deps, Gives, Operation, Reply
from tools.call.shapes import ExplainedCall, Simulated
from tools.mandates.sponsorship import Capabilities, capabilities
from tools.mandates.tried import by_owner, told

YOUNG: Final = "The vault is new and the chain may still take it back: wait till it is deep. "


class FundIn(OneMandate):
    """How much to put in."""

    amount: Usdc | None = None


class BestWay(Gives):
    """The way that is advised."""

    way: Literal["deposit"]
    text: str = Field(description="the service's own words")
    sync_call: Call
    decoded: ExplainedCall
    simulation: Simulated | None


@dataclass(frozen=True, slots=True)
class FundCall(Call):
    """One of the two calls that put money in, in their order."""

    step: Literal["approve", "deposit"] = "approve"
    decoded: ExplainedCall | None = None
    simulation: Simulated | None = field(
        default=None,
        metadata=said(
            "what the chain said of it; null where it could not be asked, and for a deposit that "
            "waits for its approval"
        ),
    )


class FundOut(Gives):
    """How USDC gets into the vault; `room` is what may still be deposited. `provisional`: the
    vault's creation is not deep enough in the chain, and may still be reorganised away.
    """

    vault_address: str
    provisional: bool
    chain_id: int
    usdc: str
    room: Usdc
    in_wallet: Usdc | None = Field(
        description="USDC in the owner's wallet now; null where it could not be asked"
    )
    best_way: BestWay
    calls: list[FundCall]
    amount: Usdc | None
    capabilities: Capabilities | None = None


def provisional(uow: UnitOfWork, chain: Chain, m: Mandate, vault: VaultState | None) -> bool:
    """True while a reorganisation within the confirmations could still take the vault away."""
    known = uow.chainlog.vault(m.chain_id, m.vault_address or "")
    if known is None or (vault is not None and not vault.exists):
        return True
    aged = vault is not None and vault.block.number - known.block >= chain.confirmations
    return not known.deep and not aged


@dataclass(frozen=True, slots=True, kw_only=True)
class FundFacts(Facts):
    """Also what each call would do, and what the owner has; empty where it could not be asked."""

    tried: Mapping[str, Simulation] = field(default_factory=dict)
    in_wallet: Usdc | None = None


def _pair(
    chain: Chain, m: Mandate, vault: str, amount: Usdc
) -> tuple[tuple[Literal["approve", "deposit"], Call], ...]:
    """The two calls, in the order in which they are sent."""
    approve = replace(chain.approve_call(vault, amount), sender=m.owner_address)
    return ("approve", approve), ("deposit", by_owner(chain, m, vault, "deposit", amount))


async def gather_fund(deps: Deps, caller: Caller, asked: FundIn) -> FundFacts:
    """Read the vault and the owner's USDC, and try the calls."""
    facts = (await gather_mandate(deps, caller, asked)).now
    known = FundFacts(vault=facts.vault)
    m = await peek(deps, caller, asked.public_id)
    chain = chain_if_named(deps, m)
    if chain is None or facts.vault is None or chain.usdc is None or m.vault_address is None:
        return known
    calls: dict[str, Call] = {"sync": by_owner(chain, m, m.vault_address, "sync")}
    if asked.amount is not None and asked.amount > ZERO:
        calls |= dict(_pair(chain, m, m.vault_address, asked.amount))
    try:
        with chain.hurried():
            held = (await chain.usdc_balances([m.owner_address]))[m.owner_address]
    except Refused:
        return known
    tried = {n: await simulation_if_readable(chain, call) for n, call in calls.items()}
    return replace(known, in_wallet=held, tried={n: t for n, t in tried.items() if t is not None})


def _shown(
    chain: Chain, step: Literal["approve", "deposit"], call: Call, tried: Simulation | None
) -> FundCall:
    # Before its approval is mined a deposit fails for that alone, which says nothing of it.
    waits = step == "deposit" and tried is not None and not tried.ok
    shown = told(chain, call, None if waits else tried)
    return FundCall(
        call.chain_id,
        call.to,
        call.data,
        call.value,
        call.sender,
        step=step,
        decoded=shown["decoded"],
        simulation=shown["simulation"],
    )


def fund(uow: UnitOfWork, ask: Ask[FundIn, FundFacts]) -> Reply:
    """Where the money goes, the best way in, and the two calls for an amount."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id)
    chain, vault = named_chain(ask, m), ask.facts.vault
    closed = vault is not None and (vault.stopped or vault.settled)
    if m.vault_address is None or m.status not in (Status.SIGNED, Status.WORKING) or closed:
        raise Refused(refusal("wrong_status", status=m.status.value, action="funding it"))
    if m.ended(max(ask.now, vault.block.at) if vault is not None else ask.now):
        raise Refused(refusal("mandate_ended", ends_at=timestamp(m.ends_at) if m.ends_at else None))
    if chain.usdc is None:
        raise Refused(refusal("not_configured", what=f"USDC of chain {m.chain_id}"))
    # A deposit that is mined and not deep enough is in the vault already.
    deposited = Usdc(uow.ledger.state(m.public_id).measured.deposits)
    room = max(
        ZERO, m.budget_usdc - max(deposited, vault.total_deposited if vault is not None else ZERO)
    )
    amount = ask.asked.amount
    calls: list[FundCall] = []
    if amount is not None:
        if amount <= ZERO:
            raise Refused(refusal("invalid_number", value=str(amount), why="it is not above 0"))
        if amount > room:
            raise Refused(
                refusal(
                    "over_budget", attempted=amount, allowed=room, remaining={"budget": str(room)}
                )
            )
        pair = _pair(chain, m, m.vault_address, amount)
        calls = [_shown(chain, step, call, ask.facts.tried.get(step)) for step, call in pair]
    young = provisional(uow, chain, m, vault)
    sync = told(chain, by_owner(chain, m, m.vault_address, "sync"), ask.facts.tried.get("sync"))
    best = {
        "way": "deposit",
        "text": (YOUNG if young else "") + "Send both calls from the owner's wallet. USDC that "
        "reaches the vault by a plain transfer is booked by sync().",
        "sync_call": sync.pop("call"),
        **sync,
    }
    body = {
        "vault_address": m.vault_address,
        "provisional": young,
        "chain_id": m.chain_id,
        "usdc": chain.usdc,
        "room": room,
        "in_wallet": ask.facts.in_wallet,
        "best_way": best,
        "calls": calls,
        "amount": amount,
        "capabilities": capabilities(ask, chain),
    }
    return Reply(200, body)


OPERATIONS: Final = (
    Operation(
        name="owner_fund",
        title="Fund the vault",
        summary="Vault address, USDC, and the approve and deposit calls for an amount, each "
        "decoded and tried out.",
        auth="owner",
        route=("GET", "/wallet/mandates/{public_id}/fund"),
        takes=FundIn,
        gives=FundOut,
        handler=fund,
        gather=gather_fund,
        refusals=(
            "not_found",
            "wrong_status",
            "mandate_ended",
            "not_configured",
            "over_budget",
            "invalid_number",
        ),
    ),
)
