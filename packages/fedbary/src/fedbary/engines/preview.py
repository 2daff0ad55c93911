"""`PreviewEngine`: a local engine that writes down what passes between the server and its first client."""

from __future__ import annotations

from collections.abc import Mapping

from fedbary.engines.local import LocalEngine
from fedbary.engines.run import SILENT, Observer
from fedbary.protocols.messages import Failure, Message, Reply
from fedbary.valuation.result import Valuation


class PreviewEngine(LocalEngine):
    """For an owner who wants to see beforehand what would leave; ``recorded`` are messages and their answers."""

    def __init__(self) -> None:
        super().__init__(workers=1)
        self.recorded: list[tuple[Message, Reply | Failure]] = []

    def exchange(self, tasks: Mapping[str, Message], observer: Observer = SILENT) -> dict[str, Reply | Failure]:
        """As usual, and written down."""
        answers = super().exchange(tasks, observer)
        first = next(iter(self._clients))
        if first in tasks:
            self.recorded.append((tasks[first], answers[first]))
        return answers

    def finish(self, result: Valuation, observer: Observer = SILENT) -> Valuation:  # noqa: ARG002
        """Row values are not looked at: they would not leave."""
        return result
