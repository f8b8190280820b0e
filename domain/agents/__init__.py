"""The agent's own side: policy, transfers, ways to bring money in."""
