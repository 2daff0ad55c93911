"""Levels that have a coordinate of their own; all others of a column are one: rare ones, and those that come later."""

from __future__ import annotations

from collections.abc import Mapping

# Beyond so many levels a column says little of any one of them.
MOST_LEVELS = 100


def named_levels(counts: Mapping[str, float], least: int) -> tuple[str, ...]:
    """Levels of ``least`` rows or more, by name; of more than a hundred the most frequent."""
    frequent = sorted((name for name in counts if counts[name] >= least), key=lambda name: (-counts[name], name))
    return tuple(sorted(frequent[:MOST_LEVELS]))
