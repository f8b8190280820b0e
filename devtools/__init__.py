"""Development tools: the local chain and venue, the demonstration, and `wallet conform`.

Production code imports none of it.
"""
