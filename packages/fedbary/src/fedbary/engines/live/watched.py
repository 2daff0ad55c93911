"""`Watched`: the folder of a run with its state so far and, in the end, its report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fedbary.engines.checkpoint import NAME as CHECKPOINT
from fedbary.engines.live.follow import Follower, inside
from fedbary.engines.live.records import Logged
from fedbary.engines.live.state import RunState, after

REPORT = "report.html"
# Clocks of file systems may be behind.
_SLACK = 2.0
# Seconds. Row values of large clients take a while to write, and a run of `fedbary.value` writes no report at all.
_REPORT_COMES_WITHIN = 60.0


class Watched:
    """A run's output folder, whether the run is to come, going on or over."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run = RunState()
        self._follower = Follower(folder)

    def look(self) -> Iterator[Logged]:
        """Events since the last look; ``run`` is up to date with each of them. To be read to its end."""
        for entry in self._follower.read():
            if entry is None:
                self.run = RunState()
            else:
                self.run = after(self.run, entry)
                yield entry

    def skip(self) -> None:
        """Leave out what is there already: another run is about to begin in the folder, or goes on."""
        for _ in self.look():
            pass
        self.run = RunState()

    @property
    def report(self) -> Path | None:
        """The finished run's report; one that an earlier run left does not count."""
        path = inside(self.folder, REPORT)
        if path is None or self.run.started is None:
            return path
        try:
            fresh = path.stat().st_mtime >= self.run.started - _SLACK
        except OSError:
            return None
        return path if fresh and self.run.standing == "finished" else None

    def is_over(self, now: float) -> bool:
        """Whether nothing more is to be waited for, not even the report, which is written after the last event."""
        run = self.run
        late = run.last is not None and now - run.last > _REPORT_COMES_WITHIN
        return run.standing == "stopped" or (run.standing == "finished" and (late or self.report is not None))

    @property
    def remedy(self) -> str:
        """What to do about a run that stopped."""
        if self.resumable:
            return "Run the same command with --resume (Flower: resume=true), and it goes on from its last round."
        return "It stopped before its first round was over: mend what it says, and start it again."

    @property
    def resumable(self) -> bool:
        """Whether a stopped run can go on from its last round."""
        return inside(self.folder, CHECKPOINT) is not None

    @property
    def broken(self) -> int:
        """Lines of the log that could not be read."""
        return self._follower.broken

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {
            **self.run.to_dict(),
            "broken": self.broken,
            "report": self.report is not None,
            "remedy": self.remedy if self.run.standing == "stopped" else "",
        }
