"""The one loop: a protocol asks, an engine carries, observers look on."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.protocols.messages import Failure, Message, Reply, ServerProtocol, Settings, State

if TYPE_CHECKING:
    from fedbary.data.table import Table
    from fedbary.errors import FedbaryError
    from fedbary.notes import Note
    from fedbary.valuation.result import Valuation
    from fedbary.valuation.rows import RowRules


@dataclass(frozen=True)
class Work:
    """What a run is about, as far as an engine must know it.

    ``tables`` are the clients' rows where the caller holds them, None where they are with their owners; ``secret`` is
    the clients' seed where one process holds them all.
    """

    protocol: Settings
    rules: RowRules
    tables: Mapping[str, Table | FedbaryError] | None = None
    secret: int = 0


class Observer:
    """Looks on and does nothing; event logs and checkpoints do more. Clients are named as people know them."""

    def joined(self, clients: Sequence[str], wanted: int, notes: Sequence[Note] = ()) -> None:
        """So many of the wanted clients have come; notes say who did not, and who was left out."""

    def started(self, clients: Sequence[str]) -> None:
        """The protocol begins, or goes on."""

    def busy(self, what: str) -> None:
        """The server works on something that takes a while."""

    def asked(self, kind: str, clients: Sequence[str], *, total: int | None = None) -> None:
        """A round begins; of ``total`` clients only some may be known by name."""

    def answered(self, client: str, answer: Reply | Failure) -> None:
        """A client answered, or did not."""

    def absorbed(self, protocol: ServerProtocol, engine: Engine) -> None:
        """A round is over, and the protocol has taken its answers."""

    def finished(self, result: Valuation) -> None:
        """The run is done."""


SILENT = Observer()


class Engine(ABC):
    """Carries messages to clients and their answers back. An engine is three calls; the rest it may leave as it is.

    Attributes
    ----------
    folder : path or None
        Where events and, during the run, a checkpoint are kept.
    resume : bool
        Whether to go on from the checkpoint in ``folder``, if there is one.
    networked : bool
        Whether the clients are other parties, whom messages reach over a network or by hand.
    patient : bool
        Whether answers come by and by: a run stops with `Waiting`, and the same call goes on. One of several rounds
        then goes on from its checkpoint, which is kept.
    one_answer : bool
        Whether people carry messages, so that after a model nobody is asked again.
    """

    folder: Path | None = None
    resume: bool = False
    networked: bool = False
    patient: bool = False
    one_answer: bool = False

    @abstractmethod
    def clients(self, work: Work, state: State, observer: Observer) -> list[str]:
        """Who takes part; ``state`` is what `state` returned before an interruption, or empty."""

    @abstractmethod
    def exchange(self, tasks: Mapping[str, Message], observer: Observer) -> dict[str, Reply | Failure]:
        """Deliver messages and wait for the answers."""

    @abstractmethod
    def finish(self, result: Valuation, observer: Observer) -> Valuation:
        """The valuation with what clients add to it: row values in one process, or counts that owners share."""

    def state(self) -> State:
        """What a later run needs to go on from here."""
        return {}

    def label(self, client: str) -> str:
        """What people call a client."""
        return client

    def map(self, work: Callable[[Any], Any], jobs: Iterable[Any]) -> Iterable[Any]:
        """`map` with the engine's workers, which a server may borrow."""
        return map(work, jobs)

    def facts(self) -> dict[str, Any]:
        """What belongs into the settings of a result."""
        return {}

    def drawn_seed(self) -> int:
        """The seed of a run for which none was given."""
        return secrets.randbits(48)


def run(protocol: ServerProtocol, engine: Engine, observer: Observer = SILENT) -> Valuation:
    """Carry messages until the protocol is done."""
    while tasks := protocol.tasks():
        protocol.absorb(engine.exchange(tasks, observer))
        observer.absorbed(protocol, engine)
    result = engine.finish(protocol.result(), observer)
    observer.finished(result)
    return result


class Observers(Observer):
    """Several observers as one: each hears everything."""

    def __init__(self, *members: Observer) -> None:
        def to_all(name: str) -> Callable[..., None]:
            def said(*args: Any, **more: Any) -> None:
                for member in members:
                    getattr(member, name)(*args, **more)

            return said

        for name in ("joined", "started", "busy", "asked", "answered", "absorbed", "finished"):
            setattr(self, name, to_all(name))
