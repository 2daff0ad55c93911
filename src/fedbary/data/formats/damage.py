"""What is said of a file that cannot be read."""

from __future__ import annotations


def one_line(error: Exception) -> str:
    """An error of another library, short and on one line."""
    return " ".join(str(error).split())[:200]
