"""A run in progress, read from its ``events.jsonl``: in a terminal or in a browser."""
