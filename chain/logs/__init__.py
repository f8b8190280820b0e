"""Log reads: the block-by-block reader, requeries and USDC transfers."""
