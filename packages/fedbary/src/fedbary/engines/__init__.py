"""Engines carry the messages of a protocol: in one process here, over a network elsewhere."""
