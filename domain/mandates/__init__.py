"""What is agreed: the mandate and its moves, targets, clauses, terms, approvals."""
