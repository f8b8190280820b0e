"""The agent's account: registration, policy, balances, offers, transfers."""
