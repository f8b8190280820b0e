"""The state of many vaults at one block: by the lens, or field by field without one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from eth_abi.exceptions import DecodingError

from chain import answers, codec
from chain.blocks import Blocks, pinned
from chain.faults import RpcFault
from domain.facts import BlockStamp, VaultState

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
)


async def vault_states(chain: Blocks, vaults: Sequence[str]) -> Mapping[str, VaultState]:
    """Read many vaults at one block, by the lens where there is one; keys are the addresses as
    given.
    """
    lens = chain.facts.lens
    block = await chain.latest()
    if lens is None:
        return {v: await _state_by_fields(chain, v, block) for v in vaults}
    found: dict[str, VaultState] = {}
    for start in range(0, len(vaults), LENS_BATCH):
        batch = vaults[start : start + LENS_BATCH]
        try:
            raw = await chain.eth_call(
                lens, codec.calldata("VaultLens", "read", [tuple(batch)]), block
            )
            _, _, states = codec.outputs("VaultLens", "read", raw)
        except (RpcFault, DecodingError) as error:
            raise chain.node().unavailable(
                f"the lens does not answer ({type(error).__name__})"
            ) from None
        found |= {v: answers.vault_state(v, block, s) for v, s in zip(batch, states, strict=True)}
    return found


async def _state_by_fields(chain: Blocks, vault: str, block: BlockStamp) -> VaultState:
    """The same without a lens: a call a field, all at one block."""

    async def view(name: str) -> tuple[Any, ...]:
        return codec.outputs(
            "MandateVault",
            name,
            await chain.eth_call(vault, codec.calldata("MandateVault", name, ()), block),
        )

    try:
        if await chain.node().ask("eth_getCode", vault, pinned(block)) in ("0x", None):
            return VaultState(vault, block, exists=False)
        cash, positions, floor, answered = await view("worth")
        withdrawable, reason, until = await view("lockStatus")
        one = {n: (await view(n))[0] for n in _SINGLE}
    except (RpcFault, DecodingError) as error:
        raise chain.node().unavailable(
            f"the vault does not answer ({type(error).__name__})"
        ) from None
    balance = await chain.balance(vault, block)
    told = (
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
        answered,
    )
    return answers.vault_state(vault, block, told)
