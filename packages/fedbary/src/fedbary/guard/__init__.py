"""The owner's side of every engine: policy, ledger, redaction, and what answers a message and remembers it."""
