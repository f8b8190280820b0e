"""Every refusal there is, by what it stands in the way of."""
