"""Address proofs: the text that an agent signs to prove that an address is its own."""

from __future__ import annotations

from typing import Final

from domain.mandates.terms import members, types

FIELDS: Final = members("string agent_id,uint256 chain_id,address address,uint256 nonce")
_DOMAIN: Final = members("string name,string version,uint256 chainId")


def typed_data(agent_id: str, chain_id: int, address: str, nonce: int) -> dict[str, object]:
    """The whole typed-data object (EIP-712) that `address` signs to be the agent's (contract 7).

    Shapes: `address` in EIP-55 form; integers leave as decimal strings. `nonce` is 256 random
    bits, good for one proof.
    """
    return {
        "types": types(EIP712Domain=_DOMAIN, DepositAddress=FIELDS),
        "primaryType": "DepositAddress",
        "domain": {"name": "MandateWallet", "version": "1", "chainId": chain_id},
        "message": {
            "agent_id": agent_id,
            "chain_id": str(chain_id),
            "address": address,
            "nonce": str(nonce),
        },
    }
