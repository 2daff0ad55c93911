"""A Flower training run as a training log, from which contributions are computed afterwards."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy
from numpy.typing import NDArray

from fedbary.errors import DataError, SettingsError, as_note
from fedbary.notes import Note
from fedbary_flower.layout import Layout, Vector
from fedbary_flower.strategy_wrapper import Wrapper
from fedbary_lab.training.training_log import Head, Round, TrainingLog
from fedbary_lab.training.training_log_file import save_arrays

NAME_KEY = "client-name"
_LONGEST_NAME = 200
_TOLERANCE = 1e-4


class Recording(Wrapper):
    """A strategy that is passed through unchanged, and whose run is kept as a `TrainingLog`.

    Parameters
    ----------
    strategy : Strategy
        Any strategy of ``flwr.serverapp.strategy`` whose replies hold one ``ArrayRecord``, the client's model after
        training, and the number of its rows in a ``MetricRecord``.
    names : mapping of int to str, optional
        Names of nodes. Otherwise a client is called as it says under ``client-name`` in a record of its reply (a
        ``ConfigRecord`` for text), or else by its node id.
    examples_key : str, optional
        Where the number of rows stands. Default: the strategy's ``weighted_by_key``, or ``num-examples``.
    folder : path, optional
        Write each round to a file there, ``round-00001.npz`` and so on, instead of keeping it in memory.
    head : Head, optional
        Where the last layer lies in the vector, for ShapFed.

    Notes
    -----
    A model becomes one vector: its arrays of floating-point numbers, in the order of the initial model. Running
    statistics of batch normalisation are among them, as they are in FedAvg. Whole numbers, such as its counter
    ``num_batches_tracked``, are left out, for they would drown the weights in every cosine; `Layout.unflatten` puts in
    the initial model's.

    Only nodes whose reply arrived without an error count as selected in a round, and a round without any is left out.

    The run needs clients × rounds × weights × 4 bytes, 8 for double precision, of memory or of ``folder``; `log` takes
    8 bytes a number while it is used.

    Recording never ends a training: what cannot be recorded is warned of, and `log` then says it in an error.

    Examples
    --------
    ::

        recording = Recording(FedAvg())
        recording.start(grid, initial_arrays, num_rounds=5)
        setting = Setting(recording.log, recording.evaluate(accuracy))  # accuracy(ArrayRecord) -> float
        METHODS["gtg"].compute(setting)
    """

    def __init__(
        self,
        strategy: Strategy,
        *,
        names: Mapping[int, str] | None = None,
        examples_key: str | None = None,
        folder: str | Path | None = None,
        head: Head | None = None,
    ) -> None:
        super().__init__(strategy)
        self.names = {int(node): str(name) for node, name in (names or {}).items()}
        if len(set(self.names.values())) < len(self.names):
            raise SettingsError("research.one-name-twice")
        self.examples_key = examples_key or str(getattr(strategy, "weighted_by_key", "num-examples"))
        self.folder = None if folder is None else _empty(Path(folder))
        self.head = head
        self._layout: Layout | None = None
        self._initial: Vector | None = None
        self._nodes: dict[int, str] = {}
        self._counts: dict[int, int] = {}
        self._rounds: list[Path | tuple[list[int], Vector]] = []
        self._average: Vector | None = None
        self._problem: Note | None = None
        self._differs = False

    @property
    def log(self) -> TrainingLog:
        """What was recorded so far.

        Raises
        ------
        DataError
            If no round was recorded, or one could not be.
        """
        if self._problem is not None:
            raise DataError(self._problem.code, **self._problem.facts)
        if self._initial is None or not self._rounds:
            raise DataError("research.nothing-recorded")
        position = {node: number for number, node in enumerate(self._nodes)}
        rounds = []
        for entry in self._rounds:
            nodes, models = _read(entry) if isinstance(entry, Path) else entry
            rounds.append(Round(np.array([position[node] for node in nodes]), models.astype(np.float64)))
        return TrainingLog(
            tuple(self._nodes.values()),
            np.array([self._counts[node] for node in self._nodes]),
            self._initial.astype(np.float64),
            tuple(rounds),
            head=self.head,
        )

    @property
    def nodes(self) -> dict[str, int]:
        """Flower's node id of each client in the log: what `choosing.from_result` asks for."""
        return {name: node for node, name in self._nodes.items()}

    @property
    def layout(self) -> Layout:
        """How a model becomes a vector; known from the first round on."""
        if self._layout is None:
            raise DataError("research.layout-not-known-yet")
        return self._layout

    def evaluate(self, utility: Callable[[ArrayRecord], float]) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
        """A utility of one model as the methods want it: many vectors of weights in, as many numbers out."""

        def utilities(weights: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.array([float(utility(self.layout.unflatten(vector))) for vector in weights])

        return utilities

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Pass on; note the model that the round starts from."""
        self._try(server_round, self._note_start, arrays)
        return super().configure_train(server_round, arrays, config, grid)

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Pass on; keep the clients' models."""
        messages = list(replies)
        # Before the strategy sees them: some change the replies in place.
        self._try(server_round, self._note_replies, messages)
        arrays, metrics = super().aggregate_train(server_round, messages)
        if arrays is not None:
            self._try(server_round, self._compare, arrays)
        return arrays, metrics

    def _try(self, server_round: int, step: Callable[..., None], *arguments: Any) -> None:
        if self._problem is not None:
            return
        try:
            step(*arguments)
        except Exception as error:
            why = as_note(error)
            self._problem = Note("research.not-recorded", {"round": server_round, "why": why})
            warnings.warn(f"Recording stopped, the training goes on. Round {server_round}: {why}", stacklevel=3)

    def _note_start(self, arrays: ArrayRecord) -> None:
        if self._initial is None:
            self._layout = Layout.of(arrays)
            self._initial = self._layout.flatten(arrays)
        else:
            self._compare(arrays)

    def _note_replies(self, messages: list[Message]) -> None:
        valid = [message for message in messages if message.has_content()]
        if not valid:
            return
        nodes = [int(message.metadata.src_node_id) for message in valid]
        if len(set(nodes)) < len(nodes):
            raise DataError("research.node-replied-twice")
        counts = [self._examples(message.content, node) for message, node in zip(valid, nodes, strict=True)]
        models = np.stack([self._model(message.content, node) for message, node in zip(valid, nodes, strict=True)])
        for message, node, count in zip(valid, nodes, counts, strict=True):
            if node not in self._nodes:
                self._nodes[node] = self._name(message.content, node)
                self._counts[node] = count
        shares = np.array([self._counts[node] for node in nodes], dtype=float)
        self._average = (shares / shares.sum()) @ models
        if self.folder is None:
            self._rounds.append((nodes, models))
        else:
            arrays = {"nodes": np.array(nodes, dtype=np.uint64), "models": models}
            self._rounds.append(save_arrays(self.folder / f"round-{len(self._rounds) + 1:05d}.npz", arrays))

    def _examples(self, content: RecordDict, node: int) -> int:
        found = [
            metrics[self.examples_key] for metrics in content.metric_records.values() if self.examples_key in metrics
        ]
        if len(found) != 1 or isinstance(found[0], list) or not float(found[0]).is_integer() or found[0] < 1:
            raise DataError(
                "research.reply-without-count", node=str(node), found=str(found or "nothing"), key=self.examples_key
            )
        return int(found[0])

    def _model(self, content: RecordDict, node: int) -> Vector:
        if len(content.array_records) != 1:
            raise DataError("research.reply-of-several-models", node=str(node), records=len(content.array_records))
        try:
            return self.layout.flatten(next(iter(content.array_records.values())))
        except DataError as error:
            raise error.at(f"the model of node {node}") from error

    def _name(self, content: RecordDict, node: int) -> str:
        if node in self.names:
            return self.names[node]
        said = [record.get(NAME_KEY) for record in content.config_records.values()]
        said += [record.get(NAME_KEY) for record in content.metric_records.values()]
        name = str(next((word for word in said if isinstance(word, str | int)), ""))[:_LONGEST_NAME].strip()
        # A client chooses this name itself: it must not pass for another one.
        taken = {*self._nodes.values(), *self.names.values()}
        return name if name and name not in taken else f"{name} ({node})" if name else str(node)

    def _compare(self, arrays: ArrayRecord) -> None:
        """Say so, once, if the strategy does not average as the log does."""
        if self._average is None or self._differs:
            return
        given = self.layout.flatten(arrays)
        gap = float(np.abs(given - self._average).max(initial=0.0))
        if not gap <= _TOLERANCE * (1.0 + float(np.abs(given).max(initial=0.0))):
            warnings.warn(
                f"The strategy's global model differs by {gap:.3g} from the average of the clients' models, weighted "
                "by their rows, which the methods on a training log assume: read their values as an approximation.",
                stacklevel=4,
            )
            self._differs = True


def _empty(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.glob("round-*.npz")):
        raise SettingsError("research.folder-holds-rounds", folder=str(folder))
    return folder


def _read(file: Path) -> tuple[list[int], Vector]:
    try:
        with np.load(file, allow_pickle=False) as arrays:
            return [int(node) for node in arrays["nodes"]], arrays["models"]
    except (OSError, ValueError, KeyError) as error:
        raise DataError("research.recorded-round-unreadable", file=str(file), why=str(error)) from error
