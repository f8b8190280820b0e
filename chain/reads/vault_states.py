"""Vault states at one block: through the lens, or field by field without one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from eth_abi.exceptions import DecodingError

from chain.contracts import abi_codec
from chain.quorum import NodeAnswers, query_until, quorum_read, quorum_read_each
from chain.reads.blocks import BlockReader, pinned
from chain.rpc import decoding
from chain.rpc.errors import NodeError
from domain.chain_facts import BlockStamp, VaultState
from domain.refusals import Refused

LENS_BATCH: Final = 200
# Fields that the vault and the lens name alike.
_SINGLE: Final = (
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
    """Read many vaults at one block, the newest unless one is given; keys are the addresses as
    given.

    A vault that does not answer is left out and holds no other back.
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
            reason = f"the vault does not answer ({type(error).__name__})"
            if len(batch) == 1:
                failed.append(chain.node().unavailable(reason))
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
    names = abi_codec.struct_fields("VaultLens", "read")
    return {
        v: decoding.vault_state(v, block, dict(zip(names, answer, strict=True)))
        for v, answer in zip(batch, answers, strict=True)
    }


async def agreed_states(
    chain: NodeAnswers[BlockReader], vaults: Sequence[str], block: BlockStamp | None = None
) -> Mapping[str, VaultState]:
    """Read vaults through each node, at the given block or the newest agreed one; return only
    states that more than half of all nodes give.

    Errors: `chain_unavailable` where no state has a majority.
    """
    at = block if block is not None else await agreed_head(chain)

    async def read(view: BlockReader) -> Mapping[str, VaultState | None]:
        states = await vault_states(view, vaults, at)
        return {vault: states.get(vault) for vault in vaults}

    answers = await quorum_read_each(chain, "a vault", vaults, read)
    agreed = {vault: state for vault, (state, *_) in answers.items() if state is not None}
    if vaults and not agreed:
        raise chain.node().unavailable("its nodes do not say the same")
    return agreed


async def agreed_head(chain: NodeAnswers[BlockReader]) -> BlockStamp:
    """The newest block that more than half of the configured nodes have, as they name it; never
    older than the newest agreed block of the reader's last step. Errors: `chain_unavailable`.
    """
    majority_size, reader_head = len(chain.views) // 2 + 1, chain.node().head

    async def head(view: BlockReader) -> int:
        newest = (await view.latest()).number
        if newest < reader_head:
            raise view.node().unavailable(f"the node is behind: block {newest} after {reader_head}")
        return newest

    answers = await query_until(chain, head, lambda answers: len(answers) >= majority_size)
    if len(answers) < majority_size:
        raise chain.node().unavailable(
            f"{majority_size} of its {len(chain.views)} nodes have to answer"
        )
    number = sorted(answers.values(), reverse=True)[majority_size - 1]
    for view in chain.views:
        view.forget_ahead(agreed=number)
    block = await quorum_read(chain, f"block {number}", lambda view: view.block(number))
    if block is None:
        raise chain.node().unavailable(f"its nodes do not have block {number}")
    return block


async def _state_by_fields(chain: BlockReader, vault: str, block: BlockStamp) -> VaultState:
    """Read one vault without a lens: one call per field, all at one block."""

    async def view(name: str) -> tuple[abi_codec.AbiValue, ...]:
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
    fields = {name: (await view(name))[0] for name in _SINGLE} | {"ok": True}
    fields["stopped"] = (await view("stoppedAt"))[0] != 0
    fields |= zip(("cash", "positions", "floor", "values"), await view("observed"), strict=True)
    fields |= zip(("withdrawable", "lockReason", "until"), await view("lockStatus"), strict=True)
    fields["balance"] = await chain.balance(vault, block)
    return decoding.vault_state(vault, block, fields)
