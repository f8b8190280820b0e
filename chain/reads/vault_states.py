"""The state of many vaults at one block: by the lens, or field by field without one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from eth_abi.exceptions import DecodingError

from chain.contracts import abi_codec
from chain.quorum import NodeAnswers, dissent, majority, quorum_read, until
from chain.reads.blocks import BlockReader, pinned
from chain.rpc import decoding
from chain.rpc.errors import NodeError
from domain.chain_facts import BlockStamp, VaultState
from domain.refusals import Refused

LENS_BATCH: Final = 200
_SINGLE: Final = (
    "stoppedAt",
    "settled",
    "stopReason",
    "agent",
    "spentToday",
    "totalDeposited",
    "totalSpent",
    "totalReturned",
    "feeOwed",
    "recorded",
)


async def vault_states(
    chain: BlockReader, vaults: Sequence[str], block: BlockStamp | None = None
) -> Mapping[str, VaultState]:
    """Read many vaults at one block, the newest unless one is named; keys are the addresses as
    given.

    A vault that does not answer holds no other back: it is left out.
    Errors: `chain_unavailable` where none answers.
    """
    at = block if block is not None else await chain.latest()
    states: dict[str, VaultState] = {}
    failed: list[Refused] = []
    lens, step = chain.facts.lens, 1 if chain.facts.lens is None else LENS_BATCH
    batches = [list(vaults[n : n + step]) for n in range(0, len(vaults), step)]
    while batches:
        batch = batches.pop()
        try:
            if lens is None:
                states[batch[0]] = await _state_by_fields(chain, batch[0], at)
            else:
                states |= await _by_lens(chain, lens, batch, at)
        except (NodeError, DecodingError, *decoding.NONSENSE) as error:
            why = f"the vault does not answer ({type(error).__name__})"
            if len(batch) == 1:
                failed.append(chain.node().unavailable(why))
            else:
                middle = len(batch) // 2
                batches += [batch[middle:], batch[:middle]]
    if failed and not states:
        raise failed[0]
    return {v: states[v] for v in vaults if v in states}


async def _by_lens(
    chain: BlockReader, lens: str, batch: Sequence[str], block: BlockStamp
) -> dict[str, VaultState]:
    raw = await chain.eth_call(lens, abi_codec.calldata("VaultLens", "read", [tuple(batch)]), block)
    _, _, answers = abi_codec.outputs("VaultLens", "read", raw)
    return {v: decoding.vault_state(v, block, s) for v, s in zip(batch, answers, strict=True)}


async def agreed_states(
    chain: NodeAnswers[BlockReader], vaults: Sequence[str], block: BlockStamp | None = None
) -> Mapping[str, VaultState]:
    """Read vaults through each node by itself, at the block named or else at the newest that enough
    of them have; what more than half of all nodes say alike is told, and nothing else.

    Errors: `chain_unavailable` where there is nothing that enough nodes say.
    """
    at = block if block is not None else await agreed_head(chain)
    views = chain.views

    async def read(view: BlockReader) -> Mapping[str, VaultState]:
        return await vault_states(view, vaults, at)

    def limit(vault: str, statement: Mapping[int, Mapping[str, VaultState]]) -> list[int]:
        return majority(len(views), {n: states.get(vault) for n, states in statement.items()})

    statement = await until(chain, read, lambda statement: all(limit(v, statement) for v in vaults))
    agreed: dict[str, VaultState] = {}
    for vault in vaults:
        same = limit(vault, statement)
        own = {n: states.get(vault) for n, states in statement.items()}
        if same and (state := own[same[0]]) is not None:
            dissent(chain.node(), "a vault", same, own)
            agreed[vault] = state
    if vaults and not agreed:
        raise chain.node().unavailable("its nodes do not say the same")
    return agreed


async def agreed_head(chain: NodeAnswers[BlockReader]) -> BlockStamp:
    """The newest block that more than half of the configured nodes have, as they name it; none that
    is older than what enough of them had in the reader's last step.

    Errors: `chain_unavailable`.
    """
    need, known = len(chain.views) // 2 + 1, chain.node().head

    async def head(view: BlockReader) -> int:
        newest = (await view.latest()).number
        if newest < known:
            raise view.node().unavailable(f"the node is behind: block {newest} after {known}")
        return newest

    statement = await until(chain, head, lambda statement: len(statement) >= need)
    if len(statement) < need:
        raise chain.node().unavailable(f"{need} of its {len(chain.views)} nodes have to answer")
    number = sorted(statement.values(), reverse=True)[need - 1]
    for view in chain.views:
        view.forget_ahead(agreed=number)
    here = await quorum_read(chain, f"block {number}", lambda view: view.block(number))
    if here is None:
        raise chain.node().unavailable(f"its nodes do not have block {number}")
    return here


async def _state_by_fields(chain: BlockReader, vault: str, block: BlockStamp) -> VaultState:
    """The same without a lens: a call a field, all at one block."""

    async def view(name: str) -> tuple[Any, ...]:
        return abi_codec.outputs(
            "MandateVault",
            name,
            await chain.eth_call(vault, abi_codec.calldata("MandateVault", name, ()), block),
        )

    try:
        code = await chain.node().ask("eth_getCode", vault, pinned(block))
    except NodeError as fault:
        raise chain.node().unavailable(f"eth_getCode refused: {fault}") from None
    if code in ("0x", None):
        return VaultState(vault, block, exists=False)
    cash, positions, floor, values = await view("observed")
    withdrawable, reason, until = await view("lockStatus")
    one = {n: (await view(n))[0] for n in _SINGLE}
    balance = await chain.balance(vault, block)
    fields = (
        True,
        one["stoppedAt"] != 0,
        one["settled"],
        withdrawable,
        one["stopReason"],
        reason,
        one["agent"],
        until,
        cash,
        positions,
        floor,
        one["spentToday"],
        one["totalDeposited"],
        one["totalSpent"],
        one["totalReturned"],
        one["feeOwed"],
        balance,
        [v != decoding.SILENT for v in values],
        one["recorded"],
        values,
    )
    return decoding.vault_state(vault, block, fields)
