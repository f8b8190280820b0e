"""Agent actions: calldata, reports and the lookup of outcomes."""
