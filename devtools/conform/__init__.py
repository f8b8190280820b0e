"""`wallet conform`: a harness author's agent against a real chain and service that misbehave on
purpose.
"""
