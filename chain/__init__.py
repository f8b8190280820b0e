"""What the vault and its chain say: ABIs and calldata, typed data and signatures, logs,
block-pinned reads.
"""
