"""Approval items: read by owner and agent, decided by the owner."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

from pydantic import Field

from domain.facts import SignerCheck, VaultState
from domain.ledger.events import Kind, NewEvent, Reporter
from domain.ledger.payloads import ApprovalTold, Place
from domain.ledger.written import written
from domain.mandates.approvals import Approval, ApprovalItem, decided, good_until, repeats
from domain.mandates.mandate import Mandate
from domain.mandates.states import Action, moved
from domain.ports import Chain
from domain.refusals import Refused, refusal
from domain.rules.standing import as_read
from domain.wire import JsonObject
from storage.rows.approvals import item_after
from storage.unit_of_work import UnitOfWork
from tools.call.access import not_found, peek, seen_mandate
from tools.call.approving import approvals_kept, factory_of
from tools.call.case import chain_if_named, coming, named_chain, signed_digest, vault_if_readable
from tools.call.fields import ApprovalId, Cursor, Limit, Lines, OneMandate, Page, Signature
from tools.call.fit import fitting_rows
from tools.call.operation import Ask, Caller, Deps, Gives, Operation, Reply
from tools.call.wire import wire


class ApprovalsIn(OneMandate):
    """Which items."""

    status: Literal["pending", "approved", "declined", "expired", "used"] | None = Field(
        default=None, description="only these"
    )
    approval_id: str | None = Field(default=None, max_length=64, description="this item alone")
    limit: Limit = 50
    cursor: Cursor = None


class Decision(OneMandate):
    """The owner's decision."""

    approval_id: ApprovalId
    decision: Literal["approve", "decline"]
    note: Lines | None = Field(default=None, max_length=1_000)
    signature: Signature | None = Field(
        default=None,
        description="of the owner over detail.typed_data of `signature_needed` (EOA, ERC-1271); "
        "needed to approve where clause 6 is enforced by `Contract`, not looked at otherwise",
    )


class Decided(Gives):
    """The item after the decision."""

    approval: ApprovalItem


class ApprovalPage(Page[ApprovalItem]):
    """A page of items."""


def read(uow: UnitOfWork, ask: Ask[ApprovalsIn, None]) -> Reply:
    """A mandate's approval items, newest first."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id)
    if ask.asked.approval_id is not None:
        item = uow.approvals.get(m.public_id, ask.asked.approval_id)
        fits = item is not None and ask.asked.status in (None, item.shown(ask.now))
        return Reply(
            200,
            {
                "items": [item.told(ask.now)] if item is not None and fits else [],
                "next_cursor": None,
            },
        )
    most = ask.asked.limit
    items = uow.approvals.page(
        m.public_id, status=ask.asked.status, after=ask.asked.cursor, limit=most + 1, now=ask.now
    )
    # The agent fills them, each with up to 64 KiB of calldata.
    rows = list(fitting_rows(wire(i.told(ask.now)) for i in items[:most]))
    more = item_after(items[len(rows) - 1]) if len(items) > len(rows) else None
    return Reply(200, {"items": rows, "next_cursor": more})


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionFacts:
    """The vault now, and whether it keeps approvals; then what is to be signed, its digest, and
    what the signature proved.
    """

    vault: VaultState | None
    kept: bool | None = None
    digest: str | None = None
    proof: SignerCheck | None = None


async def gather_decision(deps: Deps, caller: Caller, asked: Decision) -> DecisionFacts:
    """Read the vault and check the signature before the transaction."""
    m = await peek(deps, caller, asked.public_id)
    chain = chain_if_named(deps, m)
    vault = await vault_if_readable(chain, m)
    if asked.decision == "decline":
        return DecisionFacts(vault=vault)
    kept = await approvals_kept(deps, m)
    if not kept or chain is None or asked.signature is None:
        return DecisionFacts(vault=vault, kept=kept)

    def signable(uow: UnitOfWork) -> JsonObject | None:
        item = uow.approvals.get(m.public_id, asked.approval_id)
        return None if item is None else _typed_data(uow, chain, m, item)

    data = await deps.store.read(signable)
    if data is None:
        return DecisionFacts(vault=vault, kept=kept)
    digest = chain.digest(data)
    proof = await chain.check_signature(digest, asked.signature, m.owner_address)
    return DecisionFacts(vault=vault, kept=kept, digest=digest, proof=proof)


def _typed_data(uow: UnitOfWork, chain: Chain, m: Mandate, item: Approval) -> JsonObject | None:
    """What the owner signs to approve the item; None before the terms are signed."""
    mandate, factory = signed_digest(chain, m), factory_of(chain, m)
    if mandate is None or factory is None:
        return None
    until = good_until(item, uow.approvals.of_action(m.public_id, item.action_hash))
    return chain.approve_action(factory, mandate, item.action_hash, until)


def _signed(
    uow: UnitOfWork, ask: Ask[Decision, DecisionFacts], m: Mandate, item: Approval
) -> Approval:
    """The approved item with the owner's signature as the vault takes it.

    Errors: `signature_needed` with the typed data, `invalid_signature`, `conflict`.
    """
    chain, given, proof = named_chain(ask, m), ask.asked.signature, ask.facts.proof
    data = _typed_data(uow, chain, m, item)
    if data is None:
        action = "approving an action on chain"
        raise Refused(refusal("wrong_status", status=m.status.value, action=action))
    digest = chain.digest(data)
    if given is None:
        raise Refused(refusal("signature_needed", detail={"typed_data": data, "digest": digest}))
    if ask.facts.digest != digest:
        raise Refused(refusal("conflict", why="Another approval was signed just now; ask again."))
    why = "it is not this wallet's over this action"
    if proof is not None and proof.signer_type == "erc6492":
        why = "the vault asks the wallet itself (ERC-1271), so it has to be deployed first"
    if proof is None or proof.signer_type == "erc6492":
        raise Refused(refusal("invalid_signature", signer=m.owner_address, why=why))
    form = chain.on_chain_form(given) if proof.signer_type == "eoa" else given.lower()
    return replace(item, until=int(data["message"]["until"]), signature=form)


def _goes_on(uow: UnitOfWork, ask: Ask[Decision, DecisionFacts], m: Mandate) -> None:
    """Refuse to decide anything under a mandate that is over, by the newest block too.

    Errors: `wrong_status`.
    """
    m = as_read(m, ask.facts.vault, coming(uow, m))
    moved(m, Action.DECIDE)
    if not m.goes_on(ask.now):
        raise Refused(refusal("wrong_status", status="ended", action=Action.DECIDE.value))


def decide(uow: UnitOfWork, ask: Ask[Decision, DecisionFacts]) -> Reply:
    """Approve or decline; twice the same way is one decision, the other way a conflict.

    Where the vault keeps approvals, approving takes the owner's signature over the very action: a
    session alone approves nothing. Declining takes none.
    """
    m = seen_mandate(uow, ask.caller, ask.asked.public_id, lock=True)
    item = uow.approvals.get(m.public_id, ask.asked.approval_id)
    if item is None:
        raise not_found("approval")
    if not repeats(item, ask.asked.decision, ask.now):
        _goes_on(uow, ask, m)
    after = decided(item, ask.asked.decision, ask.asked.note, ask.now)
    if ask.facts.kept and after.status == "approved" and after.signature is None:
        after = _signed(uow, ask, m, after)
    if after is not item:
        uow.approvals.save(after)
        place = Place(**{n: item.target.get(n) for n in ("market", "address", "selector", "label")})
        told = ApprovalTold(
            approval_id=item.approval_id,
            status=after.status,
            reason="owner_declined" if after.status == "declined" else None,
            place=place,
            text=after.note,
        )
        row = NewEvent(
            kind=Kind.NOTE,
            reported_by=Reporter.OWNER,
            occurred_at=ask.now,
            amount_usdc=item.approve_amount_usdc,
            chain_id=m.chain_id,
            payload=written(told),
        )
        uow.ledger.append(m.public_id, row, event_id=ask.ids.short("ev_"), now=ask.now)
    return Reply(200, {"approval": after.told(ask.now)})


OPERATIONS: Final = (
    Operation(
        name="mandate_approvals",
        title="Read approval items",
        summary="Actions that were held for the owner, with their status.",
        auth="owner_or_agent",
        route=("GET", "/wallet/mandates/{public_id}/approvals"),
        takes=ApprovalsIn,
        gives=ApprovalPage,
        handler=read,
        on_mcp=True,
        refusals=("not_found",),
    ),
    Operation(
        name="owner_approval_decide",
        title="Decide an approval",
        summary="Approve or decline a held action. Where the vault keeps approvals, approving "
        "takes the owner's signature over it.",
        auth="owner",
        route=("POST", "/wallet/mandates/{public_id}/approvals/{approval_id}"),
        takes=Decision,
        gives=Decided,
        handler=decide,
        gather=gather_decision,
        writes=True,
        idempotent=True,
        refusals=(
            "not_found",
            "conflict",
            "approval_expired",
            "signature_needed",
            "invalid_signature",
            "wrong_status",
            "not_configured",
            "chain_unavailable",
        ),
    ),
)
