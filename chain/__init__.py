"""Chain: ABIs and calldata, typed data and signatures, logs, block-pinned reads."""
