"""A run in progress, read from its ``events.jsonl``: for `fedbary watch`."""
