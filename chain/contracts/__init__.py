"""Contracts: ABIs, addresses, EIP-712 and signatures."""
