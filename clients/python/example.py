"""Ask for calldata within the limits, or learn who can lift what stands in the way."""

from __future__ import annotations

from wallet_client import Refused, WalletClient


async def act(base_url: str, agent_key: str, public_id: str, target: str, data: str) -> str:
    """The calldata to sign and send, or the reason why there is none."""
    async with WalletClient(base_url, agent_key=agent_key) as wallet:
        left = (await wallet.mandate_limits(public_id=public_id)).limits.remaining
        if left.value == "0.000000":
            return f"nothing is left: {left.binding.key} binds, until {left.retry_at}"
        try:
            call = await wallet.mandate_execute_call(
                public_id=public_id, target=target, data=data, approve_amount="25", why="rebalance"
            )
        except Refused as refused:
            return f"{refused.refusal.error}, for the {refused.refusal.who_fixes} to fix"
        if call.status == "pending_approval":
            return f"the owner has to answer: {call.approval_id}"
        return f"sign and send on chain {call.chain_id}, to {call.to}: {call.data}"
