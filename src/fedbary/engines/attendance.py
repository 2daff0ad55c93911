"""Who is waited for before a networked run begins."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Attendance:
    """For how many nodes to wait, and how long; ``least`` of them will do when the deadline has passed."""

    wanted: int
    least: int | None = None
    deadline: float = 120.0
