"""The typed fields of a draft: what they may say, and the mandate that they make."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal

from pydantic import Field

from domain.mandates.acceptance import revise
from domain.mandates.clauses import Clause, clauses
from domain.mandates.mandate import MAX_HORIZON_DAYS, MAX_PAYOUT_BPS, Mandate
from domain.mandates.markets import from_config, label_targets, resolve
from domain.mandates.purse_entries import purse_of, with_purse
from domain.mandates.target_parsing import MAX_ENTRIES, check_entry_count, validate_targets
from domain.mandates.targets import DEFAULT_TARGETS, Target
from domain.money import LARGEST, LIMIT_MICROS, ZERO, Usdc
from domain.refusals import Refused, invalid, refusal
from domain.settings import Config
from storage.repositories.people import User
from storage.unit_of_work import UnitOfWork
from tools.context.access import not_found
from tools.context.snapshot_loader import keeper_key
from tools.model.fields import Lines
from tools.model.operation import AnyContext, RequestModel

NOTE_MAX: Final = 2_000
BUDGET_MAX: Final = Usdc(LIMIT_MICROS)


class TypedFields(RequestModel):
    """The typed fields of a draft but its budget (contract 3); what is left out takes the Standard
    preset.
    """

    purpose: Lines = Field(default="", max_length=NOTE_MAX, description="the owner's purpose note")
    per_tx_cap_usdc: Usdc | None = None
    daily_cap_usdc: Usdc | None = None
    stop_floor_bps: int = Field(
        default=2000, ge=0, le=10_000, description="how much of the budget may be lost, in 1/10000"
    )
    target_bps: int | None = Field(
        default=None, ge=1, le=1_000_000, description="gain hoped for, in 1/10000; binds nobody"
    )
    horizon_days: int = Field(
        default=30, ge=1, le=MAX_HORIZON_DAYS, description="days from signing to the end"
    )
    payout_rule: dict[str, object] | None = Field(
        default=None, description=f"{{kind: share_of_verified_gain, bps: 0..{MAX_PAYOUT_BPS}}}"
    )
    allowed_targets: list[dict[str, object]] | None = Field(
        default=None,
        max_length=MAX_ENTRIES,
        description="{kind: vault | x402, hosts?, purse?: {per_payment_usdc?, per_day_usdc?, "
        "float_usdc?, payees?} | contract, address, selector, self_args: "
        "places of the vault's address | venue, venue, symbols?}",
    )
    markets: list[str] | None = Field(
        default=None, max_length=24, description="market ids, resolved into allowed_targets"
    )
    approval_above_usdc: Usdc | None = None
    on_floor: Literal["keep", "close"] = Field(
        default="keep", description="at the stop line: keep positions, or close them"
    )
    chain_id: int | None = Field(
        default=None, ge=1, le=2**53, description="EIP-155 id; default: the service's own"
    )
    agent_id: str | None = Field(
        default=None, max_length=64, description="the agent that is to act; its policy must accept"
    )


class ProposeIn(TypedFields):
    """The typed fields of a draft, which names its budget."""

    budget_usdc: Usdc


class DraftTermsIn(ProposeIn):
    """An owner's typed fields; to open the board is the owner's alone (contract 3)."""

    open_board: bool = Field(
        default=False, description="offer it to every agent; only where no agent is named"
    )


def caps(terms: ProposeIn) -> tuple[Usdc, Usdc]:
    """(per action, per day) with 0 < per action <= per day <= budget <= 1e12 (contract 3).

    The Standard preset takes 10% and 30% of the budget, or less where the other cap was given
    lower.
    """
    budget = terms.budget_usdc
    if not ZERO < budget <= BUDGET_MAX:
        raise invalid("budget_usdc", f"it is above 0 and at most {LARGEST}")
    per_tx, per_day = terms.per_tx_cap_usdc, terms.daily_cap_usdc
    if per_tx is None:
        per_tx = min(max(budget.share_down(1000), Usdc(1)), per_day or budget)
    if per_day is None:
        per_day = max(budget.share_down(3000), per_tx)
    if per_tx <= ZERO:
        raise invalid("per_tx_cap_usdc", "it is above 0")
    if per_tx > budget:
        raise invalid("per_tx_cap_usdc", "it is not above the budget")
    if per_tx > per_day:
        raise invalid("per_tx_cap_usdc", "it is not above the cap per day")
    if per_day > budget:
        raise invalid("daily_cap_usdc", "it is not above the budget")
    above = terms.approval_above_usdc
    if above is not None and above <= ZERO:
        raise invalid(
            "approval_above_usdc", "it is above 0, or null for an agent that acts on its own"
        )
    return per_tx, per_day


def payout(terms: TypedFields) -> tuple[str, int]:
    """(kind, bps) of the payout rule."""
    rule = terms.payout_rule
    if rule is None:
        return "share_of_verified_gain", 1000
    kind, bps = rule.get("kind", "share_of_verified_gain"), rule.get("bps", 1000)
    if kind != "share_of_verified_gain" or set(rule) - {"kind", "bps"}:
        raise invalid(
            "payout_rule", "its kind is share_of_verified_gain, its fields are kind and bps"
        )
    if type(bps) is not int or not 0 <= bps <= MAX_PAYOUT_BPS:
        raise invalid("payout_rule.bps", f"a share from 0% to {MAX_PAYOUT_BPS // 100}%")
    return kind, bps


def targets(
    terms: ProposeIn, ctx: AnyContext, chain_id: int, per_tx: Usdc, per_day: Usdc
) -> tuple[Target, ...]:
    """The allowed targets: as given, what the named markets stand for, and the calls of a purse;
    their labels are the service's own. `per_tx` and `per_day` are the mandate's caps.
    """
    listed: tuple[Target, ...] = ()
    markets = from_config(ctx.config.markets)
    if terms.allowed_targets is not None:
        validated = validate_targets(terms.allowed_targets, ctx.chains.address)
        listed = label_targets(validated, markets, chain_id)
    if terms.markets:
        resolved = resolve(terms.markets, markets, chain_id)
        listed = tuple(dict.fromkeys((*(listed or DEFAULT_TARGETS), *resolved)))
    if purse_of(listed) is not None or chain_id in ctx.chains.ids():
        listed = with_purse(listed, ctx.chains.get(chain_id), per_tx, per_day)
    check_entry_count(listed, "markets" if terms.markets else "allowed_targets")
    return listed if terms.allowed_targets is not None or terms.markets else DEFAULT_TARGETS


def agent_in(
    uow: UnitOfWork, ctx: AnyContext, agent_id: str, chain_id: int
) -> tuple[str, str | None]:
    """(name, address) of an agent that may be named.

    Errors: `not_found`, `agent_not_accepting`.
    """
    agent = uow.identities.agent(agent_id)
    if agent is None:
        raise not_found("agent")
    policy = uow.policies.get(agent_id)
    if policy is None or not policy.accepts_mandates:
        raise Refused(refusal("agent_not_accepting"))
    return agent.name, address_on_file(uow, ctx, agent_id, chain_id)


def address_on_file(
    uow: UnitOfWork, ctx: AnyContext, agent_id: str | None, chain_id: int
) -> str | None:
    """The wallet that an agent has on file for a chain now, in EIP-55 form."""
    agent = None if agent_id is None else uow.identities.agent(agent_id)
    if agent is None:
        return None
    address = uow.addresses.address(agent.agent_id, chain_id) or agent.address
    return None if address is None else ctx.chains.address(address)


def chain_of(request: int | None, own_chain: int | None, config: Config) -> int:
    """The chain of a draft: as asked, else the owner's own, else the service's.

    Errors: `invalid_request` for another chain than the one where a contract's word counts.
    """
    if own_chain is not None and request not in (None, own_chain):
        raise invalid(
            "chain_id",
            f"the owner signs by a contract on chain {own_chain}, and by that there alone",
        )
    return request or own_chain or config.default_chain_id


def applied(
    uow: UnitOfWork,
    ctx: AnyContext,
    mandate: Mandate,
    terms: ProposeIn,
    *,
    vault_keeps_approvals: bool | None,
    own_chain: int | None,
) -> Mandate:
    """The draft with a whole new set of terms; `vault_keeps_approvals` says whether the vault
    keeps approvals, `own_chain` where the owner's word counts (None: everywhere).
    """
    opens = isinstance(terms, DraftTermsIn) and terms.open_board
    if terms.agent_id is not None and opens:
        raise invalid("open_board", "a named agent and the open board exclude each other")
    per_tx, per_day = caps(terms)
    kind, bps = payout(terms)
    chain_id = chain_of(terms.chain_id, own_chain, ctx.config)
    name = address = None
    if terms.agent_id is not None:
        name, address = agent_in(uow, ctx, terms.agent_id, chain_id)
    listed = targets(terms, ctx, chain_id, per_tx, per_day)
    if any(t.probe and t.address and uow.bills.names(t.address) for t in listed):
        raise invalid("allowed_targets", "what lies in a purse is spent: no probe values it")
    changed = replace(
        mandate,
        budget_usdc=terms.budget_usdc,
        purpose=terms.purpose,
        per_tx_cap_usdc=per_tx,
        daily_cap_usdc=per_day,
        stop_floor_bps=terms.stop_floor_bps,
        target_bps=terms.target_bps,
        horizon_days=terms.horizon_days,
        payout_kind=kind,
        payout_bps=bps,
        allowed_targets=listed,
        approval_above_usdc=terms.approval_above_usdc,
        approvals_on_chain=vault_keeps_approvals,
        on_floor=terms.on_floor,
        chain_id=chain_id,
        agent_id=terms.agent_id,
        agent_name=name,
        agent_address=address,
        open_board=opens,
        from_board=mandate.from_board and terms.agent_id == mandate.agent_id,
        frame=None,
    )
    return revise(mandate, changed)


def draft_of(
    uow: UnitOfWork,
    ctx: AnyContext,
    public_id: str,
    owner: User,
    terms: ProposeIn,
    *,
    vault_keeps_approvals: bool | None,
) -> Mandate:
    """A new draft of these terms, which is not stored."""
    empty = Mandate(
        public_id,
        owner.user_id,
        owner.address,
        terms.budget_usdc,
        terms.horizon_days,
        terms.stop_floor_bps,
        ctx.now,
    )
    own_chain = owner.chain_id
    return applied(
        uow, ctx, empty, terms, vault_keeps_approvals=vault_keeps_approvals, own_chain=own_chain
    )


def clauses_now(uow: UnitOfWork, ctx: AnyContext, mandate: Mandate) -> list[Clause]:
    """The clauses of the terms, by the switches and the owner's keeper key."""
    return list(clauses(mandate, ctx.switches, keeper_key=keeper_key(uow, ctx, mandate)))
