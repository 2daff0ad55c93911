"""A data owner's node: answers the server's messages, remembers its state in files, and keeps its results."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary.columns.column import UNREAD, UNREAD_CELLS
from fedbary.compute import computing_on
from fedbary.data.atomic import private_folder, read_arrays, write_arrays
from fedbary.data.frames import WITHOUT_LABEL
from fedbary.data.persons import ONE_ROW_EACH, REPEATS
from fedbary.data.reading import Reading
from fedbary.errors import DataError, FedbaryError, ProtocolError, SettingsError
from fedbary.forms import Arrays, Flag, Number, Numbers, Record, Text
from fedbary.guard.guarded_client import GuardedClient, refusal
from fedbary.guard.ledger import FAILURE, FREE, REFUSAL, REPLY, Account, Entry
from fedbary.guard.node_config import NodeConfig
from fedbary.guard.owner_files import LOGGER, log_error, owner_log, save_rows
from fedbary.guard.policy import OwnerPolicy, asked_digest, message_key, most_messages
from fedbary.notes import Note, notes_from_text, notes_to_text
from fedbary.protocols.forms import Exchange, check_message
from fedbary.protocols.halves import UnusableClient
from fedbary.protocols.host import shared_secret
from fedbary.protocols.messages import ClientProtocol, Failure, Message, Reply, Settings, State
from fedbary.protocols.registry import PROTOCOLS, exchanges_of
from fedbary.space.encode import require_readable
from fedbary.space.schema import Schema
from fedbary.strict_json import read_json
from fedbary.valuation.rows import RowRules

if TYPE_CHECKING:
    from fedbary.data.table import Table
    from fedbary.valuation.rows import ScoredRows

STATE = "state.npz"
_LONGEST_SETTINGS, _LONGEST = 2**20, 512 * 2**20
# The last message of protocols that do not name one after which row values are final.
FINISH = "finish"
# Notes on reading that an owner's log has, and what they are about.
_LOGGED = dict.fromkeys((UNREAD, UNREAD_CELLS, WITHOUT_LABEL, ONE_ROW_EACH), "left out") | {REPEATS: "look at"}


@dataclass(frozen=True)
class Envelope:
    """What stands on every message besides its content: the session, a message's place in it, and who answers.

    ``step`` counts a client's answers in a session, so that a client which lost its state is noticed. ``nonce`` is
    drawn for each client and message: a reply that repeats it comes from whom was asked. ``flagged`` is how many rows
    the node flagged, where its owner shares that.
    """

    session: str
    kind: str = ""
    round: int = 0
    step: int = 0
    name: str = ""
    settings: str = ""
    nonce: str = ""
    flagged: int | None = None


@dataclass(frozen=True)
class Question:
    """What a server asks in a run, which travels as one thing; the owner's policy has the last word.

    Its space travels as the schema of a message, and what a client is asked to trust the server with is the
    protocol's ``trust``.
    """

    protocol: Settings
    rules: RowRules
    simulation: Mapping[str, Any]

    def to_json(self) -> str:
        """As text for every message, so that a node needs nothing but the message."""
        options = asdict(self.protocol)
        if "schema" in options:  # a file of the coordinator's, whose path is nobody's business; the message holds it
            options["schema"] = None
        content = {"protocol": self.protocol.name, "options": options, "rules": asdict(self.rules)}
        return json.dumps(content | {"simulation": dict(self.simulation)}, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Question:
        """Read it back; a server that asks for something unknown is refused."""
        try:
            content = read_json(text, longest=_LONGEST_SETTINGS)
            protocol = PROTOCOLS[content["protocol"]](**content["options"])
            return cls(protocol, RowRules(**content["rules"]), dict(content["simulation"]))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ProtocolError("guard.settings-unknown") from error


@dataclass(frozen=True)
class LastAnswer:
    """The last message of a run, and what left for it; ``flagged`` is what was told beside it."""

    key: str
    step: int
    found: Reply | Failure
    flagged: int | None = None

    def repeats(self, message: Message, step: int) -> bool:
        """Whether a message is the same one again."""
        return self.key == message_key(message) and self.step == step


_STATE = Record(
    {
        "step": Number(),
        "client": Arrays(),
        "over": Flag(),
        "reading": Text(),
        "failure": Numbers(("bytes",), whole=True),
        "array": Arrays(),
        "last": Text(),
    }
)


@dataclass(frozen=True)
class RunState:
    """What a node remembers of a run between two messages: how far it is, its half's state, and its last answer.

    ``step`` counts its answers, and ``reading`` is how its first message wanted columns read. Of a run that is ``over``
    nothing is needed but its last answer, should the server not have heard it.
    """

    step: int = 0
    client: State = field(default_factory=dict)
    last: LastAnswer | None = None
    reading: Reading | None = None
    over: bool = False

    @classmethod
    def load(cls, folder: Path) -> RunState:
        """What `save` wrote; an empty one where there is nothing, and a damaged one is refused."""
        try:
            arrays = read_arrays(folder / STATE)
            if not arrays:
                return cls()
            kept = _STATE.from_state(arrays)
            content = read_json(kept["last"], longest=_LONGEST)
            found: Reply | Failure
            if kept["failure"] is not None:
                found = Failure.from_array(kept["failure"])
            else:
                notes = notes_from_text(content["notes"])
                found = Reply(int(content["round"]), dict(content["scalars"]), kept["array"], notes)
            last = LastAnswer(str(content["key"]), int(content["step"]), found, content["flagged"])
            reading = None if kept["reading"] is None else Reading.from_json(kept["reading"])
            return cls(int(kept["step"]), kept["client"], last, reading, kept["over"] is not None)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError) as error:
            raise DataError("guard.state-unreadable", path=str(folder / STATE), why=str(error)) from error

    def save(self, folder: Path) -> None:
        """Whole or not at all, and for the owner alone; raises where it cannot, as nothing leaves that is not kept."""
        assert self.last is not None
        content: dict[str, object] = {"key": self.last.key, "step": self.last.step, "flagged": self.last.flagged}
        found, answer = self.last.found, dict[str, Any]()
        if isinstance(found, Failure):
            answer["failure"] = found.to_array()
        else:
            content |= {"round": found.round, "scalars": dict(found.scalars), "notes": notes_to_text(found.notes)}
            answer["array"] = found.arrays
        arrays = _STATE.to_state(
            step=self.step,
            client=self.client,
            over=self.over or None,
            reading=None if self.reading is None else self.reading.to_json(),
            **answer,
            last=json.dumps(content, default=_plain),
        )
        try:
            write_arrays(private_folder(folder) / STATE, arrays, mode=0o600)
        except OSError as error:
            raise DataError("guard.state-unwritable", path=str(folder / STATE), why=error.strerror) from error


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be sent")


def answer(message: Message, envelope: Envelope, config: NodeConfig) -> tuple[Reply | Failure, Envelope]:
    """What leaves the node for a message: the answer, or a code that tells nothing of the rows.

    The last message gets the same answer again, from the file, so that a server may repeat itself.
    """
    own = replace(envelope, name=config.name, settings="")
    with config.locked(), owner_log(config.home, config.log_level):
        try:
            with computing_on(config.device, "the node's config"):
                last = _ask(message, envelope, config)
        except Exception as error:  # every error that rows had a say in was caught before
            return _refused(error, config, envelope.session, message), own
    return last.found, replace(own, flagged=last.flagged)


def refuse(error: Exception, config: NodeConfig) -> Failure:
    """What leaves for a message that cannot be read; the owner's ledger and log have it, too."""
    with config.locked(), owner_log(config.home, config.log_level):
        return _refused(error, config)


def _refused(error: Exception, config: NodeConfig, session: str = "", message: Message | None = None) -> Failure:
    log_error(error, "refused")
    found = refusal(error)
    if config.partition is None:
        entry = Entry(REFUSAL, run=session, note=str(found.note))
        if message is not None:
            entry = replace(entry, kind=message.kind, round=message.round, message=message.digest)
        try:
            config.ledger.record(entry)
        except FedbaryError as unwritten:
            log_error(unwritten, "not recorded")
    return found


def _ask(message: Message, envelope: Envelope, config: NodeConfig) -> LastAnswer:
    """Policy and ledger come first, then what was answered before; only then is the table read.

    In a simulation the owners are one, who needs neither policy nor ledger.
    """
    folder = config.run_folder(envelope.session)
    asked = Question.from_json(envelope.settings)
    policy = None if config.partition is not None else owners_policy(config)
    settings = asked.protocol if policy is None else policy.applied(asked.protocol)
    # Refuses a message that is none of the protocol's, before a row, a file or the ledger is looked at for it.
    check_message({FINISH: Exchange(), **exchanges_of(asked.protocol.name)}, asked.protocol.name, message)
    account = None if policy is None else config.ledger.read(head_needed=True)
    before = RunState.load(folder)
    last = before.last or _answered_in_another_run(settings, message, envelope, account, config)
    if last is not None and last.repeats(message, envelope.step):
        return last
    _check_step(envelope, before, message)
    if policy is not None and account is not None and not before.client:
        _afford(message, envelope, settings, policy, account)
    reading = before.reading if before.client else asked_reading(message)
    private = settings.trust.epsilon > 0.0
    client: GuardedClient | _SimulatedClient
    table: Table | None = None
    if policy is None:
        client = _SimulatedClient(asked, config, reading)
    else:
        table = _readable(config, reading, private=private)
        client = _guarded(table, asked, policy, envelope.session, config)
    if before.client:
        client.restore(before.client)
    counted = client.messages
    found = Reply(message.round) if message.kind == FINISH else client.respond(message)
    last = LastAnswer(message_key(message), envelope.step, found)
    if isinstance(found, Failure) and client.messages == counted:
        return last  # refused: what was answered before stays
    # Of the last answer of a run nothing is remembered but itself, as what a server sends may be large.
    over = message.kind == FINISH or message.kind in asked.protocol.row_values_after or "alone" in message.scalars
    if isinstance(found, Failure):
        state = RunState(before.step, client.state(), last, reading)
    else:
        state = RunState(last.step, {} if over else client.state(), last, None if over else reading, over)
    state.save(folder)
    # From here on nothing that fails may change what leaves.
    with _tried("old runs not forgotten"):
        config.forget_old_runs()
    if policy is not None and not before.client:
        with _tried("copies not looked for"):
            for note in config.copies():
                LOGGER.warning("%s %s", note.code, note)
    if policy is not None and private:
        with _tried("cells not looked at"):
            _log_unread_cells(config, reading)
    if not state.over:
        return last
    with _tried("no row values"):  # for the owner alone; nobody would look at a report of each simulated client
        head, drawn = None if policy is None else config.ledger.read().head, table if config.report else None
        results = config.output / envelope.session
        save_rows(client, asked.protocol, asked.rules, config, folder=results, table=drawn, head=head)
    with _tried("flags not counted"):
        # Kept with the answer, so that it is told once.
        if (flagged := client.flag_count()) is not None:
            told = replace(last, flagged=flagged)
            replace(state, last=told).save(folder)
            return told
    return last


@contextmanager
def _tried(what: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        log_error(error, what)


def _answered_in_another_run(
    settings: Settings, message: Message, envelope: Envelope, account: Account | None, config: NodeConfig
) -> LastAnswer | None:
    """The answer to the very same question, where one message is a whole run: its coordinator repeats the run."""
    if account is None or most_messages(settings) != 1:
        return None
    run = account.answered(asked_digest(settings, message))
    last = None if run is None else RunState.load(config.run_folder(run)).last
    if last is not None and last.repeats(message, envelope.step):
        left = next(line for line in reversed(account.entries) if line.run == run and line.what in (REPLY, FAILURE))
        what = FREE if left.what == REPLY else FAILURE
        config.ledger.record(replace(left, what=what, run=envelope.session, question=0, data="", time=""))
    return last


def _check_step(envelope: Envelope, before: RunState, message: Message) -> None:
    if envelope.step != before.step + 1:
        raise ProtocolError("guard.out-of-step", asked=envelope.step, here=before.step + 1)
    if before.over:  # row values are made once: a server must not keep the node busy with them
        raise ProtocolError("guard.run-over")
    if message.kind == FINISH and not before.client:
        raise ProtocolError("protocols.not-started")


def _afford(message: Message, envelope: Envelope, settings: Settings, policy: OwnerPolicy, account: Account) -> None:
    """Refuse what the guarded client would refuse, too: a server must not make the node read its table for nothing."""
    asks = asked_digest(settings, message)
    card_again = message.kind == "card" and account.answered(asks) is not None
    if not card_again and account.unanswered(envelope.session, asks) is None:
        question = Entry(protocol=settings.name, epsilon=settings.trust.epsilon, delta=settings.trust.delta)
        account.afford(question, **policy.limits)


def owners_policy(config: NodeConfig) -> OwnerPolicy:
    """The policy that the owner's config names, or the default one."""
    if config.policy is None:
        return OwnerPolicy()
    try:
        return OwnerPolicy.load(config.policy)
    except SettingsError as error:
        log_error(error, "refused")
        raise SettingsError("guard.policy-unusable") from error


def _readable(config: NodeConfig, reading: Reading | None, *, private: bool) -> Table | None:
    """The owner's rows; None where the file cannot be read."""
    try:
        return own_table(config, reading, private=private)
    except Exception as error:
        log_error(error, "failed")
        return None


def _guarded(table: Table | None, asked: Question, policy: OwnerPolicy, run: str, config: NodeConfig) -> GuardedClient:
    own: dict[str, Any] = {"policy": policy, "ledger": config.ledger, "run": run, "rules": asked.rules}
    if table is None:
        unreadable = UnusableClient(DataError("guard.table-unreadable"))
        return GuardedClient(unreadable, policy.applied(asked.protocol), **own)
    return GuardedClient.for_table(table, asked.protocol, seed=config.secret(), **own)


def asked_reading(message: Message) -> Reading | None:
    """How a message wants columns read; None where it has no schema, and the owner's own guesses are what it is about.

    A run is read as its first message says: of rows that were described by the owner's guesses no later schema makes
    something else.
    """
    if "schema" not in message.scalars:
        return None
    return Schema.from_json(str(message.scalars["schema"])).whole_reading


def own_table(config: NodeConfig, reading: Reading | None, *, private: bool) -> Table:
    """The rows of an owner's file, or those that an app loads, as a question wants them read.

    For a ``private`` answer single cells that no table takes do not count, nor does what a column looks like: that
    would leave. Kinds are then those that were agreed and that the owner's options name. Arrays and a `Table` that an
    app loads are taken as they are.
    """
    from fedbary.data.files import read, read_any_cells

    if config.source is not None:
        from fedbary.data.objects import as_table, private_table

        label = config.label if config.label != "label" else None  # where nobody names it, a data set may
        make = private_table if private else as_table
        table = make(config.source.load(), label=label, options=config.reading, reading=reading)
    else:
        assert config.data is not None
        reader = read_any_cells if private else read
        table = reader(config.data, config.label, id=config.id, options=config.reading, reading=reading)
    # Whether rows can be read as a schema says must not be told as if the column were not there.
    require_readable(table, reading or ())
    for note in table.notes:
        if note.code in _LOGGED:
            why = note.facts.get("why")
            told = why if isinstance(why, Note) else note
            log_error(DataError(told.code, **{"where": table.origin, **told.facts}), _LOGGED[note.code])
    return table


def _log_unread_cells(config: NodeConfig, reading: Reading | None) -> None:
    """Tell the owner's log what a private answer took as missing; the answer was made before."""
    try:
        for _ in own_table(config, reading, private=False).batches():
            pass  # what is wrong with a stored table is said when it is met
    except FedbaryError as error:
        log_error(error, "read as far as it can be")


class _SimulatedClient:
    """A client of a simulation: with the rows that its app loads, or its part of a named data set."""

    messages = 0

    def __init__(self, asked: Question, config: NodeConfig, reading: Reading | None) -> None:
        secret = shared_secret(int(asked.simulation.get("run_seed", 0)))
        self._half: ClientProtocol
        try:
            table = simulated_table(config, asked.simulation, reading, private=asked.protocol.trust.epsilon > 0.0)
            self._half = asked.protocol.client(table, rules=asked.rules, seed=secret)
        except Exception as error:
            self._half = UnusableClient(error)

    def respond(self, message: Message) -> Reply | Failure:
        self.messages += 1
        try:
            return self._half.answer(message)
        except Exception as error:
            log_error(error, "failed")
            return Failure.of(error).redacted()

    def answer(self, message: Message) -> Reply:
        return self._half.answer(message)

    def row_values(self) -> ScoredRows:
        return self._half.row_values()

    def state(self) -> State:
        return self._half.state()

    def restore(self, state: State) -> None:
        self._half.restore(state)

    def flag_count(self) -> int | None:
        return None  # the server of a simulation sees the flags themselves


def simulated_table(
    config: NodeConfig, simulation: Mapping[str, Any], reading: Reading | None, *, private: bool
) -> Table:
    """The rows of a simulated node: those that its app loads, or its part of a named data set."""
    assert config.partition is not None
    if config.source is not None:
        return own_table(config, reading, private=private)
    return partition_table(simulation, config.partition)


def partition_table(config: Mapping[str, Any], partition: int) -> Table:
    """The rows of one simulated client.

    ``dataset`` (default digits), ``partition`` (``same``, ``case-1`` … ``case-5``, or ``dirichlet-0.3``), ``clients``,
    ``rows`` of a client and ``seed``; the test part of the data set is the server's.
    """
    clients, rows, seed = (int(config.get(key, usual)) for key, usual in (("clients", 5), ("rows", 100), ("seed", 0)))
    how = str(config.get("partition", "case-5"))
    parts = list(_divided(str(config.get("dataset", "digits")), how, clients, rows, seed).values())
    if not 0 <= partition < len(parts):
        raise SettingsError("guard.no-such-node", clients=len(parts), number=partition + 1)
    return parts[partition]


def reference_table(config: Mapping[str, Any]) -> Table:
    """The test part of the data set."""
    from fedbary.data import datasets

    return datasets.load(str(config.get("dataset", "digits"))).test.replace(origin="reference")


@lru_cache(maxsize=2)
def _divided(dataset: str, how: str, clients: int, rows: int, seed: int) -> dict[str, Table]:
    from fedbary.data import datasets
    from fedbary.data.partitions import by_size, dirichlet, paper_case

    pool = datasets.load(dataset).train
    kind, _, detail = how.partition("-")
    if kind == "case" and detail in ("1", "2", "3", "4", "5"):
        return paper_case(pool, int(detail), clients=clients, rows=rows * clients, seed=seed).clients
    if kind == "dirichlet":
        try:
            return dirichlet(pool, clients, float(detail), rows=rows, seed=seed).clients
        except ValueError as error:
            raise SettingsError("guard.partition-lacks-number", name=how) from error
    if how == "same":
        return by_size(pool, [rows] * clients, seed=seed).clients
    raise SettingsError("guard.no-partition", name=how)
