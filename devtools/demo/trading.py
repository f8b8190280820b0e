"""The chapter at the trading venue, on a local one: link an account, approve an order key, see the
indices."""

from __future__ import annotations

import secrets
import time
from typing import Final

from chain.tx_sender import address_of
from devtools.demo.people import Owner
from devtools.demo.story import Story
from domain.trading.venue_values import Network
from domain.wire_fields import JsonObject
from venue import actions, signing

KEY_DAYS: Final = 7
WALLET_CHAIN: Final = "0xa4b1"


async def trades(story: Story, owner: Owner, number: int) -> str:
    """The owner links the wallet, approves a key that never leaves the browser, and looks at what
    there is. The key's secret, as the browser has it.
    """
    story.chapter(number, "An own account at the trading venue, on paper")
    terms = await owner.ask("GET", "/wallet/own/terms")
    story.print_line(f"terms version {terms['version']}, sha256 {terms['sha256'][:16]}…")
    request = {"address": owner.wallet.address, "terms_sha256": terms["sha256"]}
    challenge = await owner.ask("POST", "/wallet/own/link/challenge", request, expect=201)
    story.hold(
        "the text to sign moves no funds and allows no trading",
        truth="does not move funds and does not allow trading" in challenge["message"],
    )
    proof = {
        "challenge_id": challenge["challenge_id"],
        "signature": owner.wallet.sign_text(challenge["message"]),
    }
    linked = await owner.ask("POST", "/wallet/own/link", proof)
    story.same(
        "linked by its signature, on the venue's testnet", linked["wallet"], owner.wallet.address
    )
    again = await owner.ask("POST", "/wallet/own/link", proof, expect=409)
    story.same("the same proof a second time", again["error"], "challenge_spent")
    secret = await _approves(story, owner)
    await _looks(story, owner)
    return secret


def approval(owner: Owner, network: Network, address: str, agent_name: str) -> JsonObject:
    """The owner's signed approval of an order key, as the browser sends it."""
    nonce = time.time_ns() // 1_000_000
    name = f"{agent_name} valid_until {nonce + KEY_DAYS * 86_400_000}"
    action = actions.approve_agent(
        network, agent=address, name=name, nonce=nonce, signature_chain_id=WALLET_CHAIN
    )
    signed = owner.wallet.sign_typed(signing.user_typed_data(action))
    return {
        "agent_address": address,
        "agent_name": name,
        "nonce": nonce,
        "signature_chain_id": WALLET_CHAIN,
        "signature": signing.Signature.from_hex(signed).as_json(),
    }


async def _approves(story: Story, owner: Owner) -> str:
    status = await owner.ask("GET", "/wallet/own/status")
    secret = "0x" + secrets.token_hex(32)
    key = address_of(secret)
    body = approval(owner, status["network"], key, status["enable"]["agent_name"])
    other = {**body, "agent_address": address_of("0x" + secrets.token_hex(32))}
    refused = await owner.ask("POST", "/wallet/own/enable/relay", other, expect=400)
    story.same("another key under the same signature", refused["error"], "invalid_signature")
    answer = await owner.ask("POST", "/wallet/own/enable/relay", body)
    story.same("the venue took the approval of the order key", answer["venue"], "ok")
    verified = await owner.ask("POST", "/wallet/own/enable/verify", {})
    story.same("and names it", verified["agent"]["address"], key)
    status = await owner.ask("GET", "/wallet/own/status")
    story.same("enabled", status["enabled"], True)
    story.same("live trading is off here, so the mode is", status["mode"], "paper")
    story.print_line(f"worth at the venue: {status['equity_usdc']} USDC")
    return secret


async def _looks(story: Story, owner: Owner) -> None:
    answer = await owner.ask("GET", "/wallet/indices")
    story.hold("index perpetuals are listed with their prices", truth=bool(answer["indices"]))
    for one in answer["indices"]:
        figures = f"mark {one['mark_px']}, funding {one['funding_hourly']} an hour, {one['status']}"
        story.print_line(f"{one['sym']:<12} {one['display_name']:<16} {figures}")
    meta = await owner.ask("GET", "/wallet/info/meta", dex="xyz")
    story.same("the same from the relay, keyless, source", meta["source"], "venue")
