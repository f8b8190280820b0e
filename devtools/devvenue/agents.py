"""Approving and removing agents and builders, and whom a signature acts for.

Source: venue page 1.3 and transcripts of the venue's testnet: expiry is lazy (an expired key goes
on trading until it is pruned), a removal, also by rotation, is pending for about five seconds, and
a key just rotated is answered otherwise than one that never was (decision 0015).
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

from devtools.devvenue import refusals as say
from devtools.devvenue.accounts import Account, Agent
from devtools.devvenue.refusals import Malformed, Refused
from devtools.devvenue.settle import builder_funded
from devtools.devvenue.state import DAY_MS, State
from devtools.devvenue.wires import ApproveAgent, ApproveBuilderFee

DEFAULT_LIFE_MS: Final = 90 * DAY_MS
LONGEST_LIFE_MS: Final = 180 * DAY_MS
MAX_NAME: Final = 16
ZERO_ADDRESS: Final = "0x" + "00" * 20
MOST_BUILDERS: Final = 10
UNNAMED: Final = ""
_VALID_UNTIL: Final = re.compile(r"(.*?) ?valid_until (\d{1,15})", re.DOTALL)
_PERCENT: Final = re.compile(r"(\d{1,3}(?:\.\d{1,6})?)%")
_TENTHS_OF_BPS: Final = Decimal(1_000)
_MOST_FEE: Final = 1_000


def acting_for(state: State, signer: str) -> Account:
    """The account that an L1 signature acts for. Errors: `Refused`, in the venue's words."""
    master = state.agent_of.get(signer)
    if master is not None:
        return state.accounts[master]
    gone = state.removed.get(signer)
    if gone is not None and state.now() < gone[1]:
        raise Refused(say.must_deposit(gone[0]))
    account = state.account(signer)
    if account is None:
        raise Refused(say.unknown_wallet(signer))
    return account


def own_account(state: State, signer: str) -> Account:
    """The account that a user-signed action acts for: the signer's own. Errors: `Refused`."""
    account = state.account(signer)
    if account is None:
        raise Refused(say.must_deposit(signer))
    return account


def approve_agent(state: State, account: Account, action: ApproveAgent) -> None:
    """Add, rotate or (address zero) remove an agent. Errors: `Refused`."""
    name, valid_until = _parse_name(state, action.agent_name)
    address, now = action.agent_address, state.now()
    prune_agents(state, account)
    if not now < valid_until <= now + LONGEST_LIFE_MS:
        raise Refused(say.AGENT_EXPIRED)
    if now < account.removal_until:
        raise Refused(say.AGENT_PENDING)
    if address == ZERO_ADDRESS:
        former = account.agents.pop(name, None)
        _pend(state, account)
        if former is not None:
            _forget(state, former)
        return
    taken = address in state.agent_of or state.account(address) is not None
    if taken or (state.rules.refuse_reused_agents and address in state.agents_ever):
        raise Refused(say.AGENT_USED)
    former = account.agents.get(name)
    number = sum(1 for n in account.agents if n != UNNAMED)
    if former is None and name != UNNAMED and number >= state.rules.extra_agents:
        raise Refused(say.too_many_agents(state.rules.extra_agents))
    if former is not None:
        _forget(state, former)
        _pend(state, account)
        # Seen after a rotation only: for a while the old key is answered as its master's.
        state.removed[former.address] = (account.address, account.removal_until)
    account.agents[name] = Agent(address=address, name=name, valid_until=valid_until)
    state.agent_of[address] = account.address
    state.removed.pop(address, None)
    state.agents_ever.add(address)


def _parse_name(state: State, label: str) -> tuple[str, int]:
    """The name and the end of its life, of a name with or without ` valid_until <ms>`."""
    match = _VALID_UNTIL.fullmatch(label)
    name = match[1] if match else label
    if len(name) > MAX_NAME:
        raise Malformed
    return name, int(match[2]) if match else state.now() + DEFAULT_LIFE_MS


def _pend(state: State, account: Account) -> None:
    """A removal is pending: for five seconds no other may be approved."""
    account.removal_until = state.now() + state.rules.removal_ms


def _forget(state: State, agent: Agent) -> None:
    """An agent is gone, and with it the nonces of its key: its old actions could be sent again."""
    state.agent_of.pop(agent.address, None)
    state.nonces.pop(agent.address, None)


def prune_agents(state: State, account: Account) -> None:
    """Drop the expired; the venue does this when it happens to look, not at the hour."""
    for name, agent in list(account.agents.items()):
        if agent.valid_until <= state.now():
            del account.agents[name]
            _forget(state, agent)


def approve_builder(state: State, account: Account, action: ApproveBuilderFee) -> None:
    """Set the most that a builder may take; 0% takes it back. Errors: `Refused`, `Malformed`."""
    match = _PERCENT.fullmatch(action.max_fee_rate)
    if match is None:
        raise Malformed
    tenths = Decimal(match[1]) * _TENTHS_OF_BPS
    if tenths != int(tenths) or tenths > _MOST_FEE:
        raise Malformed
    builder = action.builder
    if tenths > 0 and not builder_funded(state, builder):
        raise Refused(say.BUILDER_POOR)
    active = {b for b, rate in account.builders.items() if rate > 0} - {builder}
    if tenths > 0 and len(active) >= MOST_BUILDERS:
        raise Refused(say.TOO_MANY_BUILDERS)
    account.builders[builder] = int(tenths)
