"""`LocalEngine`: all parties in one process, with worker processes where they pay off."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.engines.checkpoint import NAME, load_checkpoint, save_checkpoint
from fedbary.engines.events import Event, EventLog, Listener
from fedbary.errors import FedbaryError, SettingsError
from fedbary.protocols.messages import ClientProtocol, Failure, Message, Reply, ServerProtocol

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.valuation.result import Valuation

# Starting workers takes a second or two: below this much expected work they do not pay off.
_WORTH_WORKERS_SECONDS = 6.0


class LocalEngine:
    """Runs a protocol with every client in this process.

    Parameters
    ----------
    workers : int, optional
        Worker processes. Left out, one process starts, and all cores join when the first answers show that
        the rest will take more than a few seconds. Results do not depend on it.
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
        if workers is not None and workers < 1:
            raise SettingsError(f"The 'workers' parameter of LocalEngine must be at least 1. Got {workers!r}.")
        if resume and folder is None:
            raise SettingsError("resume=True needs the folder of the interrupted run: pass folder=... too.")
        self.workers = workers
        self._folder = None if folder is None else Path(folder)
        self._resume = resume
        self._parallel: Any = None
        self._listeners: list[Listener] = []
        self._exchange = 0
        self._clients: dict[str, ClientProtocol] = {}

    def run(
        self,
        server: Callable[[Callable[..., Iterable[Any]]], ServerProtocol],
        clients: Mapping[str, ClientProtocol],
        *,
        identity: str = "",
        progress: Listener | None = None,
    ) -> tuple[Valuation, dict[str, pd.DataFrame]]:
        """Carry messages until the protocol is done; returns its result and, apart from it, the row values.

        ``server`` is called with a parallel `map`, so that the server's own work can use the workers, too.
        """
        self._listeners = [] if progress is None else [progress]
        if self._folder is not None:
            self._listeners.append(EventLog(self._folder / "events.jsonl", append=self._resume))
        self._clients = dict(clients)
        try:
            protocol = server(self._map)
            self._restore(protocol, identity)
            self._tell(Event("run-started", total=len(self._clients)))
            while tasks := protocol.tasks():
                protocol.absorb(self._deliver(tasks))
                self._checkpoint(protocol, identity)
            result = protocol.result()
            rows = self._row_values(set(result.failed))
            self._tell(Event("run-finished", total=len(self._clients)))
        finally:
            self._parallel = None
        if self._folder is not None:
            (self._folder / NAME).unlink(missing_ok=True)
        return result, rows

    def _deliver(self, tasks: Mapping[str, Message]) -> dict[str, Reply | Failure]:
        self._exchange += 1
        asked = next(iter(tasks.values())).kind
        self._tell(Event("round-started", self._exchange, asked, total=len(tasks)))
        jobs = [(self._clients[name], message) for name, message in tasks.items()]
        replies: dict[str, Reply | Failure] = {}
        for done, (name, (reply, client)) in enumerate(zip(tasks, self._map(_answer, jobs), strict=True), start=1):
            replies[name] = reply
            self._clients[name] = client
            if isinstance(reply, Failure):
                self._tell(Event("client-failed", self._exchange, asked, name, done, len(tasks), reply.reason))
            else:
                self._tell(Event("client-replied", self._exchange, asked, name, done, len(tasks)))
        self._tell(Event("round-finished", self._exchange, asked, total=len(tasks)))
        return replies

    def _row_values(self, failed: set[str]) -> dict[str, pd.DataFrame]:
        names = [name for name in self._clients if name not in failed]
        self._tell(Event("round-started", self._exchange + 1, "rows", total=len(names)))
        rows: dict[str, pd.DataFrame] = {}
        outcomes = self._map(_rows, [self._clients[name] for name in names])
        for done, (name, frame) in enumerate(zip(names, outcomes, strict=True), start=1):
            rows[name] = frame
            self._tell(Event("client-replied", self._exchange + 1, "rows", name, done, len(names)))
        return rows

    def _map(self, work: Callable[[Any], Any], jobs: Iterable[Any]) -> Iterator[Any]:
        """Results in order, from this process until it is clear that workers pay off."""
        queue = list(jobs)
        started, position = time.perf_counter(), 0
        while position < len(queue) and not self._use_workers(queue, position, time.perf_counter() - started):
            yield work(queue[position])
            position += 1
        if position < len(queue):
            from joblib import delayed

            # Arrays travel by value: a memory map would vanish with the worker's temporary folder.
            yield from self._parallel(delayed(_single_threaded)(work, job) for job in queue[position:])

    def _use_workers(self, queue: list[Any], position: int, spent: float) -> bool:
        if self._parallel is not None:
            return len(queue) - position > 1
        cores = self.workers or os.cpu_count() or 1
        if cores < 2 or len(queue) - position < 2:
            return False
        asked = self.workers is not None
        if not asked and (position == 0 or spent / position * (len(queue) - position) < _WORTH_WORKERS_SECONDS):
            return False
        from joblib import Parallel

        self._parallel = Parallel(n_jobs=cores, backend="loky", max_nbytes=None, return_as="generator")
        return True

    def _restore(self, protocol: ServerProtocol, identity: str) -> None:
        if not self._resume or self._folder is None:
            return
        stored = load_checkpoint(self._folder, identity, list(self._clients))
        if stored is None:
            return
        protocol.restore(stored[0])
        for name, state in stored[1].items():
            self._clients[name].restore(state)

    def _checkpoint(self, protocol: ServerProtocol, identity: str) -> None:
        if self._folder is not None:
            states = {name: client.state() for name, client in self._clients.items()}
            save_checkpoint(self._folder, identity, protocol.state(), states)

    def _tell(self, event: Event) -> None:
        for listener in self._listeners:
            listener(event)


def _answer(job: tuple[ClientProtocol, Message]) -> tuple[Reply | Failure, ClientProtocol]:
    """One client's answer and the client as it is afterwards; whatever it raises becomes a `Failure`."""
    client, message = job
    try:
        return client.answer(message), client
    except FedbaryError as error:
        return Failure(str(error)), client
    except Exception as error:  # one client's bug must not take the others down
        return Failure(f"internal error ({type(error).__name__}: {error})"), client


def _rows(client: ClientProtocol) -> pd.DataFrame:
    return client.row_values()


def _single_threaded(work: Callable[[Any], Any], job: Any) -> Any:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        return work(job)
