"""A strategy of Flower's around another one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Result, Strategy

from fedbary.errors import wrong_parameter


class Wrapper(Strategy):
    """A strategy around another one, which it passes everything to; what it has not, the inner one answers.

    Parameters
    ----------
    strategy : Strategy
        The strategy that does the work.
    """

    def __init__(self, strategy: Strategy) -> None:
        if not isinstance(strategy, Strategy):
            raise wrong_parameter(
                "strategy", type(self).__name__, "a Strategy of flwr.serverapp.strategy", type(strategy)
            )
        self.strategy = strategy

    def __getattr__(self, name: str) -> Any:
        if name == "strategy":  # not yet set: an object that is being copied
            raise AttributeError(name)
        return getattr(self.strategy, name)

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Pass on."""
        return self.strategy.configure_train(server_round, arrays, config, grid)

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Pass on."""
        return self.strategy.aggregate_train(server_round, replies)

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Pass on."""
        return self.strategy.configure_evaluate(server_round, arrays, config, grid)

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        """Pass on."""
        return self.strategy.aggregate_evaluate(server_round, replies)

    def summary(self) -> None:
        """Pass on."""
        self.strategy.summary()

    def start(self, *args: Any, **kwargs: Any) -> Result:
        """Run the rounds as the innermost strategy does, with every step going through this wrapper."""
        # Custom strategies often bring a `start` of their own; called on the inner object it would pass us by.
        run: Callable[..., Result] = type(innermost(self.strategy)).start
        return run(self, *args, **kwargs)


def innermost(strategy: Strategy) -> Strategy:
    """The strategy that does the work, whatever is around it."""
    while isinstance(strategy, Wrapper):
        strategy = strategy.strategy
    return strategy
