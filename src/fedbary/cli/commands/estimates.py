"""How long a run would take and how much memory it would need, from small runs of the same kind made just now.

The work is done with a part of the rows, then with twice as many, and so on while that is quick. From there on it may
grow as slowly as the square root of the rows, where most of it does not depend on them, or at least in proportion to
them, and faster if it did so between the last two runs. What nobody knows beforehand (when a solver changes its
method, when a protocol has settled) is in the width of the range.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from fedbary.cli.ui.session import peak_megabytes, session

Parts = dict[str, float]

# A calibration goes on until one of its runs, or all of them, took so many seconds.
_ONE_RUN, _ALL_RUNS = 1.0, 3.0
_SLOWEST, _FASTEST = 0.5, 1.4  # powers of the number of rows
_NOISE = 1.5  # the same run twice on a busy machine differs by this
_AFTERWARDS = (3.0, 80.0)  # seconds and MB at most for a report, which no small run writes
_COPIES = 3.0  # of a table at most, while it is read and used


@dataclass(frozen=True)
class Estimate:
    """Ranges, and how they were found."""

    seconds: tuple[float, float]
    megabytes: tuple[float, float]
    how: str


@dataclass(frozen=True)
class Calibration:
    """Seconds of each part of the work for growing parts of the rows, and bytes for the first of them.

    ``megabytes`` is what the process has taken by then, and ``waits`` how much longer everything took than it would
    on a machine with nothing else to do.
    """

    runs: list[tuple[float, Parts]]
    peaks: list[tuple[float, float]]
    megabytes: float
    waits: float
    took: float


def calibrate(work: Callable[[float], Parts], smallest: float) -> Calibration:
    """Do the work with growing fractions of the rows.

    Parameters
    ----------
    work : callable
        From a fraction of the rows to the seconds of each part of the work.
    smallest : float
        The fraction to begin with, at most 1.
    """
    import tracemalloc

    started, processor = time.perf_counter(), time.process_time()
    work(smallest)  # imports and caches are no part of a run's growth
    runs: list[tuple[float, Parts]] = []
    fraction = smallest
    while True:
        before = time.perf_counter()
        runs.append((fraction, work(fraction)))
        now = time.perf_counter()
        slow = now - before > _ONE_RUN or now - started > _ALL_RUNS
        if fraction >= 1.0 or (slow and len(runs) > 1):
            break
        fraction = min(1.0, 2.0 * fraction)
    waits = (time.perf_counter() - started) / max(time.process_time() - processor, 1e-3)
    megabytes = 0.9 * (peak_megabytes() or 0)  # the same work leaves a few more or fewer
    peaks: list[tuple[float, float]] = []
    for fraction, _ in runs[:2]:
        if peaks and time.perf_counter() - started > _ALL_RUNS:
            break
        tracemalloc.start()
        try:
            work(fraction)
            peaks.append((fraction, float(tracemalloc.get_traced_memory()[1])))
        finally:
            tracemalloc.stop()
    return Calibration(runs, peaks, megabytes, max(waits, 1.0), time.perf_counter() - started)


def grown(points: list[tuple[float, float]]) -> tuple[float, float]:
    """From (fraction, amount) to the range of the amount at fraction 1.

    Examples
    --------
    >>> grown([(0.5, 2.0), (1.0, 3.0)])  # all rows were measured: only noise is left
    (2.0, 4.5)
    >>> low, high = grown([(0.125, 2.0), (0.25, 3.0)])  # a fixed part of 1, and 8 for all rows
    >>> low < 9.0 < high
    True
    """
    fraction, amount = points[-1]
    high = amount / fraction
    if len(points) > 1:
        earlier, less = points[-2]
        slope = (amount - less) / (fraction**_FASTEST - earlier**_FASTEST)
        high = max(high, amount + slope * (1.0 - fraction**_FASTEST))
    return amount * fraction**-_SLOWEST / _NOISE, high * _NOISE


def estimate(calibration: Calibration, times: dict[str, tuple[float, float]], *, data_bytes: float) -> Estimate:
    """Ranges for the whole work.

    Parameters
    ----------
    times : mapping
        For each part: how often the whole work does what the calibration did once, at least and at most.
    data_bytes : float
        Size of all tables in memory.
    """
    before = session().elapsed() - calibration.took
    low = high = 0.0
    for part, (least, most) in times.items():
        short, long = grown([(fraction, parts.get(part, 0.0)) for fraction, parts in calibration.runs])
        low += least * short
        high += most * long
    first, last = calibration.runs[0][0], calibration.runs[-1][0]
    how = (
        f"runs of the same work with {_percent(first)} to {_percent(last)} of the rows, in {calibration.took:.1f} s"
        if last > first
        else f"a run of the same work with {_percent(last)} of the rows, in {calibration.took:.1f} s"
    )
    # What this process, with everything imported and a small run done, has taken is taken by the whole run, too.
    least = calibration.megabytes + data_bytes / 1e6
    most = calibration.megabytes + (_COPIES * data_bytes + grown(calibration.peaks)[1]) / 1e6 + _AFTERWARDS[1]
    seconds = before + low, before + calibration.waits * (high + _AFTERWARDS[0])
    return Estimate(seconds, (least, most), how)


class Stopwatch:
    """Seconds of work: those on the clock, or the processor's where other programs made this one wait.

    Examples
    --------
    >>> watch = Stopwatch()
    >>> watch.lap() >= 0.0
    True
    """

    def __init__(self) -> None:
        self._clock, self._processor = time.perf_counter(), time.process_time()

    def lap(self) -> float:
        """Seconds since the last lap."""
        clock, processor = time.perf_counter(), time.process_time()
        took = min(clock - self._clock, processor - self._processor)
        self._clock, self._processor = clock, processor
        return took


def in_words(seconds: float) -> str:
    """A duration that a reader can take in, to two digits.

    Examples
    --------
    >>> in_words(0.04), in_words(8.31), in_words(200), in_words(6000), in_words(400_000)
    ('under 1 s', '8.3 s', '3.3 min', '1.7 h', '4.6 days')
    """
    if seconds < 1.0:
        return "under 1 s"
    if seconds >= 86400 * 1000:
        return "years"
    for unit, size, most in (("s", 1.0, 90.0), ("min", 60.0, 90.0), ("h", 3600.0, 48.0)):
        if seconds / size < most:
            return f"{seconds / size:.2g} {unit}"
    return f"{seconds / 86400:.2g} days"


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.2g} %" if fraction < 1.0 else "all"
