"""`wallet conform`: somebody's agent against a real chain and service that misbehave on purpose."""
