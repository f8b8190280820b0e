"""What happened: the ledger's rows and what they add up to."""
