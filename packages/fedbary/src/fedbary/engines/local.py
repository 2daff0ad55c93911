"""`LocalEngine`: all parties on this machine, several clients at a time."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any

from fedbary.data.table import Table
from fedbary.engines.run import SILENT, Engine, Observer, Work
from fedbary.errors import FedbaryError, SettingsError, wrong_parameter
from fedbary.forms import array_text, text_array, under
from fedbary.protocols.halves import UnusableClient
from fedbary.protocols.messages import ClientProtocol, Failure, Message, Reply, State
from fedbary.space.row_identity import order_digest
from fedbary.valuation.result import Valuation, with_rows
from fedbary.valuation.rows import ScoredRows

# Which arrays of a state are those of another client.
_SAME = "same"


class LocalEngine(Engine):
    """Runs a protocol with every client on this machine, in threads: optimal transport runs outside Python's lock.

    Parameters
    ----------
    workers : int, optional
        How many clients to work on at a time; all cores if left out. Results do not depend on it.
    folder : path, optional
        Where to keep ``events.jsonl`` and, during the run, a checkpoint after every round.
    resume : bool
        Go on from the checkpoint in ``folder``, if there is one.

    Examples
    --------
    >>> import fedbary as fb
    >>> fb.LocalEngine(workers=2).workers
    2
    """

    def __init__(self, *, workers: int | None = None, folder: str | Path | None = None, resume: bool = False) -> None:
        if workers is not None and not (isinstance(workers, Integral) and workers >= 1):
            raise wrong_parameter("workers", "LocalEngine", "at least 1", workers)
        if resume and folder is None:
            raise SettingsError("engines.resume-without-folder")
        self.workers = workers
        self.folder = None if folder is None else Path(folder)
        self.resume = resume
        self._clients: dict[str, ClientProtocol] = {}
        self._tables: Mapping[str, Table | FedbaryError] = {}
        self._to_restore: State = {}

    def clients(self, work: Work, state: State, observer: Observer = SILENT) -> list[str]:  # noqa: ARG002
        """Make the clients' halves of the protocol; one whose data cannot be used answers with the reason."""
        if work.tables is None:
            raise SettingsError("engines.no-clients")
        self._clients, self._tables = {}, work.tables
        for name, table in work.tables.items():
            if isinstance(table, Table):
                self._clients[name] = work.protocol.client(table, rules=work.rules, seed=work.secret)
            else:
                self._clients[name] = UnusableClient(table)
        self._to_restore = state
        return list(self._clients)

    def exchange(self, tasks: Mapping[str, Message], observer: Observer = SILENT) -> dict[str, Reply | Failure]:
        """Let the clients answer, several at a time."""
        self._restore()
        observer.asked(next(iter(tasks.values())).kind, list(tasks))
        jobs = [(self._clients[name], message) for name, message in tasks.items()]
        answers: dict[str, Reply | Failure] = {}
        for name, answer in zip(tasks, self.map(_answer, jobs), strict=True):
            answers[name] = answer
            observer.answered(name, answer)
        return answers

    def finish(self, result: Valuation, observer: Observer = SILENT) -> Valuation:
        """The row values join the result, as one owner holds all rows."""
        self._restore()
        names = [name for name, outcome in result.outcomes.items() if outcome.ok]
        observer.asked("rows", names)
        rows, missing = {}, {}
        jobs = [(self._clients[name], self._tables[name]) for name in names]
        for name, found in zip(names, self.map(_rows, jobs), strict=True):
            if isinstance(found, Failure):
                missing[name] = found.note
            else:
                rows[name] = found
            observer.answered(name, found if isinstance(found, Failure) else Reply(0))
        return with_rows(result, rows, missing)

    def state(self) -> State:
        """The clients' states; what several of them were sent is kept once."""
        states: dict[str, Any] = {}
        first: dict[int, str] = {}
        same: dict[str, str] = {}
        for index, client in enumerate(self._clients.values()):
            for key, array in under(f"{index}/", client.state()).items():
                if id(array) in first:
                    same[key] = first[id(array)]
                else:
                    states[key], first[id(array)] = array, key
        return states | {_SAME: text_array(json.dumps(same))}

    def _restore(self) -> None:
        """Clients go on from an interrupted run, once it is known that the checkpoint is of the same one."""
        state, self._to_restore = self._to_restore, {}
        if not state:
            return
        own: dict[str, dict[str, Any]] = {}
        same = json.loads(array_text(state[_SAME]))
        for key, array in (*state.items(), *((key, state[first]) for key, first in same.items())):
            index, _, name = key.partition("/")
            own.setdefault(index, {})[name] = array
        for place, client in enumerate(self._clients.values()):
            client.restore(own.get(str(place), {}))

    def map(self, work: Callable[[Any], Any], jobs: Iterable[Any]) -> Iterator[Any]:
        """Results in order, from several threads; the run has limited each to one BLAS thread."""
        queue = list(jobs)
        workers = min(self.workers or os.cpu_count() or 1, len(queue))
        if workers <= 1:
            yield from map(work, queue)
            return
        with ThreadPoolExecutor(workers) as pool:
            try:
                yield from pool.map(work, queue)
            finally:  # whoever stops listening waits for what runs, not for all that is left
                pool.shutdown(cancel_futures=True)


def _answer(job: tuple[ClientProtocol, Message]) -> Reply | Failure:
    """One client's answer; whatever it raises is its failure, and takes nobody else down."""
    client, message = job
    try:
        return client.answer(message)
    except Exception as error:
        return Failure.of(error)


def _rows(job: tuple[ClientProtocol, Table]) -> ScoredRows | Failure:
    client, table = job
    try:
        scored = client.row_values()
    except Exception as error:
        return Failure.of(error)
    return replace(scored, facts=replace(scored.facts, table=order_digest(table)))


@contextmanager
def one_thread() -> Iterator[None]:
    """Linear algebra in one thread: our matrices are small, and threads that wait for each other cost more.

    Workers are what uses several cores.
    """
    import scipy.linalg  # noqa: F401 - only libraries that are loaded can be limited
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield


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
