"""A clock that a test moves on: what seconds do is shown, however busy the machine is."""


class Clock:
    """Stands in for the module ``time``, or for one of its clocks; time passes in ``sleep`` only."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    monotonic = perf_counter = __call__

    def sleep(self, seconds: float) -> None:
        self.now += seconds
