"""The agent's path: asking for calldata, reporting, reconciling."""
