"""Sign an owner in, make an agent, and print its key: `python first_agent.py URL CERTIFICATE`.

The owner's key is made here and forgotten, so that this is a rehearsal and no way in for a person.
"""

from __future__ import annotations

import sys

import httpx2
from eth_account import Account
from eth_account.messages import encode_defunct

base_url, certificate = sys.argv[1:]
owner = Account.create()
with httpx2.Client(base_url=base_url, verify=certificate) as http:

    def ask(path: str, body: dict[str, str], **headers: str) -> dict[str, str]:
        """One request, which must not be refused; its answer."""
        answer = http.post(path, json=body, headers=headers)
        if answer.status_code >= 300:
            sys.exit(answer.text)
        told: dict[str, str] = answer.json()
        return told

    challenge = ask("/wallet/auth/challenge", {"address": owner.address})["message"]
    signature = owner.sign_message(encode_defunct(text=challenge)).signature.hex()
    signed = {"message": challenge, "signature": "0x" + signature.removeprefix("0x")}
    token = ask("/wallet/auth/session", signed)["token"]
    agent = ask("/wallet/agents", {"name": "Scout"}, Authorization=f"Bearer {token}")
    sys.stdout.write(agent["key"] + "\n")
