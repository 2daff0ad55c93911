"""`LocalEngine`: all parties on this machine, several clients at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fedbary.engines.checkpoint import NAME, load_checkpoint, save_checkpoint
from fedbary.engines.events import NAME as EVENTS
from fedbary.engines.events import Event, EventLog, Listener, news, refused, told_if_stopped
from fedbary.errors import FedbaryError, SettingsError
from fedbary.guard.redaction import safe_reason
from fedbary.protocols.host import Host
from fedbary.protocols.messages import ClientProtocol, Failure, Message, Reply, ServerProtocol

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.valuation.result import Valuation

_SAID_BEFORE = "it failed before the run was interrupted; clients.csv says why"


class LocalEngine:
    """Runs a protocol with every client on this machine.

    Parameters
    ----------
    workers : int, optional
        How many clients to work on at a time; all cores if left out. Results do not depend on it.
    backend : {"threads", "processes"}
        Threads share the clients' data and suit protocols whose time goes into optimal transport, which runs
        outside Python's lock. Processes (joblib's loky) copy them back and forth every round, and pay off
        only for work in Python itself (docs/decisions/006-threads.md).
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

    def __init__(
        self,
        *,
        workers: int | None = None,
        backend: Literal["threads", "processes"] = "threads",
        folder: str | Path | None = None,
        resume: bool = False,
    ) -> None:
        if workers is not None and not (isinstance(workers, Integral) and workers >= 1):
            raise SettingsError(f"The 'workers' parameter of LocalEngine must be at least 1. Got {workers!r}.")
        if backend not in ("threads", "processes"):
            raise SettingsError(f"The 'backend' of LocalEngine must be 'threads' or 'processes'. Got {backend!r}.")
        if resume and folder is None:
            raise SettingsError("resume=True needs the folder of the interrupted run: pass folder=... too.")
        self.workers = workers
        self.backend = backend
        self._folder = None if folder is None else Path(folder)
        self._resume = resume
        self._listeners: list[Listener] = []
        self._exchange = 0
        self._clients: dict[str, ClientProtocol] = {}
        self._failed: dict[str, _Reason] = {}

    def run(
        self,
        server: Callable[[Host], ServerProtocol],
        clients: Mapping[str, ClientProtocol],
        *,
        identity: str = "",
        progress: Listener | None = None,
    ) -> Valuation:
        """Carry messages until the protocol is done; the row values join the result, as one owner holds all rows.

        ``server`` is called with this engine as its `Host`, so that its own work can use the workers and be seen, too.
        """
        self._listeners = [] if progress is None else [progress]
        log = None if self._folder is None else EventLog(self._folder / EVENTS, append=self._resume)
        if log is not None:
            self._listeners.append(log)
        self._clients, self._failed = dict(clients), {}
        # Only the log is told of the end: whoever listens here meets the exception itself.
        with one_thread(), told_if_stopped(log):
            return self._run(server, identity)

    def _run(self, server: Callable[[Host], ServerProtocol], identity: str) -> Valuation:
        protocol = server(Host(self._map, lambda what: self._tell(Event("server-busy", detail=what))))
        self._restore(protocol, identity)
        self._tell(Event("run-started", total=len(self._clients)))
        told: dict[str, float] = {}
        while tasks := protocol.tasks():
            protocol.absorb(self._deliver(tasks))
            self._checkpoint(protocol, identity)
            if changed := news(told, protocol.so_far()):
                told = changed
                self._tell(Event("distances", self._exchange, values=told))
        result = protocol.result()
        for name, status in refused(result, self._failed).items():
            # Before an interruption a client may have failed in words with a cell in them.
            told_now = _SAID_BEFORE if self._resume else status
            self._failed[name] = _Reason(status, told_now)
            many = len(self._clients)
            self._tell(Event("client-failed", self._exchange, "", name, many, many, told_now))
        rows, missing = self._row_values(set(result.failed))
        self._tell(Event("run-finished", total=len(self._clients)))
        if self._folder is not None:
            (self._folder / NAME).unlink(missing_ok=True)
        told_as = {name: (one.reason, one.told) for name, one in self._failed.items()}
        return result.with_rows(rows, missing).told_as(told_as)

    def _deliver(self, tasks: Mapping[str, Message]) -> dict[str, Reply | Failure]:
        self._exchange += 1
        asked = next(iter(tasks.values())).kind
        self._tell(Event("round-started", self._exchange, asked, total=len(tasks), clients=tuple(tasks)))
        jobs = [(self._clients[name], message) for name, message in tasks.items()]
        replies: dict[str, Reply | Failure] = {}
        for done, (name, (reply, client)) in enumerate(zip(tasks, self._map(_answer, jobs), strict=True), start=1):
            replies[name] = reply
            self._clients[name] = client
            if isinstance(reply, _Reason):
                self._failed[name] = reply
                self._tell(Event("client-failed", self._exchange, asked, name, done, len(tasks), reply.told))
            else:
                self._tell(Event("client-replied", self._exchange, asked, name, done, len(tasks)))
        self._tell(Event("round-finished", self._exchange, asked, total=len(tasks)))
        return replies

    def _row_values(self, failed: set[str]) -> tuple[dict[str, pd.DataFrame], dict[str, str]]:
        names = [name for name in self._clients if name not in failed]
        self._tell(Event("round-started", self._exchange + 1, "rows", total=len(names), clients=tuple(names)))
        rows: dict[str, pd.DataFrame] = {}
        missing: dict[str, str] = {}
        outcomes = self._map(_rows, [self._clients[name] for name in names])
        for done, (name, outcome) in enumerate(zip(names, outcomes, strict=True), start=1):
            if isinstance(outcome, _Reason):
                missing[name], self._failed[name] = outcome.reason, outcome
                self._tell(Event("client-failed", self._exchange + 1, "rows", name, done, len(names), outcome.told))
            else:
                rows[name] = outcome
                self._tell(Event("client-replied", self._exchange + 1, "rows", name, done, len(names)))
        return rows, missing

    def _map(self, work: Callable[[Any], Any], jobs: Iterable[Any]) -> Iterator[Any]:
        """Results in order; each worker computes with one BLAS thread."""
        queue = list(jobs)
        workers = min(self.workers or os.cpu_count() or 1, len(queue))
        if workers <= 1:
            yield from map(work, queue)
            return
        from joblib import Parallel, delayed

        # Arrays travel by value: a memory map would vanish with a worker's temporary folder.
        backend = "threading" if self.backend == "threads" else "loky"
        parallel = Parallel(n_jobs=workers, backend=backend, max_nbytes=None, return_as="generator")
        yield from parallel(delayed(_single_threaded)(work, job) for job in queue)

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
    """One client's answer and the client as it is afterwards."""
    client, message = job
    return _guarded(lambda: client.answer(message), message), client


def _rows(client: ClientProtocol) -> Any:
    return _guarded(client.row_values)


@dataclass(frozen=True)
class _Reason(Failure):
    """Why a client failed in full, as who holds all rows may read it, and as another party would be told."""

    told: str


def _guarded(work: Callable[[], Any], asked: Message | None = None) -> Any:
    """Whatever a client raises becomes a `Failure`: one client's bug must not take the others down."""
    try:
        return work()
    except FedbaryError as error:
        return _Reason(str(error), safe_reason(error, asked))
    except Exception as error:
        return _Reason(f"internal error ({type(error).__name__}: {error})", safe_reason(error))


def _single_threaded(work: Callable[[Any], Any], job: Any) -> Any:
    """One job in a worker, which may be a process with its own BLAS."""
    import threading

    if threading.current_thread() is not threading.main_thread():
        return work(job)  # a thread: the run has set the limit for the whole process
    with one_thread():
        return work(job)


@contextmanager
def one_thread() -> Iterator[None]:
    """Linear algebra in one thread: our matrices are small, and threads that wait for each other cost more.

    Workers are what uses several cores.
    """
    import scipy.linalg  # noqa: F401 - only libraries that are loaded can be limited
    import sklearn.linear_model  # noqa: F401
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield
