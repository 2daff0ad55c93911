"""Protocols: pure state machines, messages in, messages out."""
