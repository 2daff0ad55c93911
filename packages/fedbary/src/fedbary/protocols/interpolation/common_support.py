"""One number of points for all clients: the estimate depends on it, so that clients with others cannot be compared."""

from __future__ import annotations

from collections.abc import Iterable

# By fewer points than this nobody is compared, lest one client that says 1 make a single average of everybody's rows;
# how well five and more of them order clients is in docs/decisions/046-one-support-for-all.md.
LEAST_SUPPORT = 5
# With fewer than these, clients with wrong labels may seem nearer than others (same page).
ENOUGH_SUPPORT = 10
# Of ten clients so many must allow the number.
_OF_TEN = 9


def common_support(allowed: Iterable[int], asked: int) -> int:
    """The largest number of points that nine of ten clients allow.

    What a client allows is its own claim. One that allows fewer than ``LEAST_SUPPORT`` (or than was asked for, where
    that is less) is not counted; of up to nine that are, every one has to allow the number.

    Parameters
    ----------
    allowed : iterable of int
        What each client allows.
    asked : int
        What the settings ask for.

    Returns
    -------
    int
        The number; ``LEAST_SUPPORT`` where nobody allows as many.
    """
    least = min(asked, LEAST_SUPPORT)
    counted = sorted((one for one in allowed if one >= least), reverse=True)
    if not counted:
        return least
    needed = -(-len(counted) * _OF_TEN // 10)
    return min(counted[needed - 1], asked)
