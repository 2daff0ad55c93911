"""A data owner's node: answers the server's messages, remembers its state in files, and keeps its results."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.compute import computing_on
from fedbary.errors import DataError, FedbaryError, ProtocolError, SettingsError
from fedbary.guard.account import REFUSAL, Account, Entry
from fedbary.guard.envelope import Envelope
from fedbary.guard.guarded_client import GuardedClient
from fedbary.guard.node_config import NodeConfig
from fedbary.guard.own_table import asked_reading, log_unread_cells, own_table
from fedbary.guard.owner_log import LOGGER, log_error, owner_log
from fedbary.guard.owner_results import save_rows
from fedbary.guard.policy import OwnerPolicy
from fedbary.guard.questions import asked_digest, delta_of, epsilon_of, message_key, most_messages
from fedbary.guard.run_state import LastAnswer, RunState
from fedbary.guard.what_leaves import refusal
from fedbary.protocols.forms import Exchange, check_message
from fedbary.protocols.messages import ClientProtocol, Failure, Message, Reply, Settings
from fedbary.protocols.randomness import shared_secret
from fedbary.protocols.registry import PROTOCOLS, exchanges_of
from fedbary.protocols.unusable_client import UnusableClient
from fedbary.strict_json import read_json
from fedbary.valuation.rows import RowRules

if TYPE_CHECKING:
    from fedbary.data.reading import Reading
    from fedbary.data.table import Table

_LONGEST_SETTINGS = 2**20
# The last message of protocols that do not name one after which row values are final.
FINISH = "finish"


@dataclass(frozen=True)
class Asked:
    """The protocol as the server asks for it; the owner's policy has the last word."""

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
    def from_json(cls, text: str) -> Asked:
        """Read it back; a server that asks for something unknown is refused."""
        try:
            content = read_json(text, longest=_LONGEST_SETTINGS)
            protocol = PROTOCOLS[content["protocol"]](**content["options"])
            return cls(protocol, RowRules(**content["rules"]), dict(content["simulation"]))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ProtocolError("guard.settings-unknown") from error


def answer(message: Message, envelope: Envelope, config: NodeConfig) -> tuple[Reply | Failure, Envelope]:
    """What leaves the node for a message: the answer, or a code that tells nothing of the rows.

    The last message gets the same answer again, from the file, so that a server may repeat itself.
    """
    own = replace(envelope, name=config.name, settings="")
    ask = _ask_owner if config.partition is None else _ask_simulated
    with config.locked(), owner_log(config.home, config.log_level):
        try:
            with computing_on(config.device, "the node's config"):
                last = ask(message, envelope, config)
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


def _check_form(message: Message, asked: Asked) -> None:
    """Refuse a message that is none of the protocol's, before a row, a file or the ledger is looked at for it."""
    check_message({FINISH: Exchange(), **exchanges_of(asked.protocol.name)}, asked.protocol.name, message)


def _ask_owner(message: Message, envelope: Envelope, config: NodeConfig) -> LastAnswer:
    """Policy and ledger come first, then what was answered before; only then is the table read."""
    folder = config.run_folder(envelope.session)
    asked = Asked.from_json(envelope.settings)
    policy = owners_policy(config)
    settings = policy.applied(asked.protocol)
    _check_form(message, asked)
    account = config.ledger.read(head_needed=True)
    before = RunState.load(folder)
    last = before.last or _answered_in_another_run(settings, message, account, config)
    if last is not None and last.repeats(message, envelope.step):
        return last
    _check_step(envelope, before, message)
    asks = asked_digest(settings, message)
    card_again = message.kind == "card" and account.answered(asks) is not None
    if not before.client and not card_again and account.unanswered(envelope.session, asks) is None:
        # The guarded client would refuse, too, but a server must not make the node read its table for nothing.
        question = Entry(protocol=settings.name, epsilon=epsilon_of(settings), delta=delta_of(settings))
        most = policy.most_questions
        account.afford(question, budget=policy.epsilon_budget, most=most, most_delta=policy.max_delta)
    reading = before.reading if before.client else asked_reading(message)
    table = _readable(config, reading, private=epsilon_of(settings) > 0.0)
    client = _guarded(table, asked, policy, envelope.session, config)
    if before.client:
        client.restore(before.client)
    counted = client.messages
    found = Reply(message.round) if message.kind == FINISH else client.respond(message)
    last = LastAnswer(message_key(message), envelope.step, found)
    if isinstance(found, Failure) and client.messages == counted:
        return last  # refused: what was answered before stays
    state = _after(before, last, client, reading, over=_final(message, asked))
    state.save(folder)
    # From here on nothing that fails may change what leaves.
    _tried("old runs not forgotten", config.forget_old_runs)
    if not before.client:
        _tried("copies not looked for", lambda: _log_copies(config))
    if epsilon_of(settings) > 0.0:
        _tried("cells not looked at", lambda: log_unread_cells(config, reading))
    if not state.over:
        return last
    _tried("no row values", lambda: _keep_rows(client, asked, config, envelope.session, table))
    return _tried("flags not counted", lambda: _with_flags(client, state, folder)) or last


def _log_copies(config: NodeConfig) -> None:
    for note in config.copies():
        LOGGER.warning("%s %s", note.code, note)


def _answered_in_another_run(
    settings: Settings, message: Message, account: Account, config: NodeConfig
) -> LastAnswer | None:
    """The answer to the very same question, where one message is a whole run: its coordinator repeats the run."""
    run = account.answered(asked_digest(settings, message)) if most_messages(settings) == 1 else None
    return None if run is None else RunState.load(config.run_folder(run)).last


def _check_step(envelope: Envelope, before: RunState, message: Message) -> None:
    if envelope.step != before.step + 1:
        raise ProtocolError("guard.out-of-step", asked=envelope.step, here=before.step + 1)
    if before.over:  # row values are made once: a server must not keep the node busy with them
        raise ProtocolError("guard.run-over")
    if message.kind == FINISH and not before.client:
        raise ProtocolError("protocols.not-started")


def _after(
    before: RunState, last: LastAnswer, client: ClientProtocol, reading: Reading | None = None, *, over: bool
) -> RunState:
    """What is remembered after an answer: of the last one nothing but itself, as what a server sends may be large."""
    if isinstance(last.found, Failure):
        return RunState(before.step, client.state(), last, reading)
    return RunState(last.step, {}, last, over=True) if over else RunState(last.step, client.state(), last, reading)


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


def _guarded(table: Table | None, asked: Asked, policy: OwnerPolicy, run: str, config: NodeConfig) -> GuardedClient:
    ledger = config.ledger
    if table is None:
        unreadable = UnusableClient(DataError("guard.table-unreadable"))
        settings = policy.applied(asked.protocol)
        return GuardedClient(unreadable, settings, policy=policy, ledger=ledger, run=run, rules=asked.rules)
    seed = config.secret()
    return GuardedClient.for_table(
        table, asked.protocol, policy=policy, ledger=ledger, run=run, seed=seed, rules=asked.rules
    )


def _final(message: Message, asked: Asked) -> bool:
    last = message.kind in asked.protocol.row_values_after or "alone" in message.scalars
    return message.kind == FINISH or last


def _keep_rows(client: GuardedClient, asked: Asked, config: NodeConfig, session: str, table: Table | None) -> None:
    """Row values and perhaps a report, for the owner alone."""
    head, drawn = config.ledger.read().head, table if config.report else None
    save_rows(client, asked.protocol, asked.rules, config, folder=config.output / session, table=drawn, head=head)


def _with_flags(client: GuardedClient, state: RunState, folder: Path) -> LastAnswer | None:
    """The answer with the count of flags, where the owner shares it; kept like that, so that it is told once."""
    flagged = client.flag_count()
    if flagged is None or state.last is None:
        return None
    told = replace(state.last, flagged=flagged)
    replace(state, last=told).save(folder)
    return told


def _tried(what: str, work: Callable[[], LastAnswer | None]) -> LastAnswer | None:
    try:
        return work()
    except Exception as error:
        log_error(error, what)
        return None


def _ask_simulated(message: Message, envelope: Envelope, config: NodeConfig) -> LastAnswer:
    """In a simulation the owners are one, who needs neither policy nor ledger."""
    folder = config.run_folder(envelope.session)
    asked = Asked.from_json(envelope.settings)
    _check_form(message, asked)
    before = RunState.load(folder)
    if before.last is not None and before.last.repeats(message, envelope.step):
        return before.last
    _check_step(envelope, before, message)
    reading = before.reading if before.client else asked_reading(message)
    secret = shared_secret(int(asked.simulation.get("run_seed", 0)))
    client: ClientProtocol
    try:
        table = simulated_table(config, asked.simulation, reading, private=epsilon_of(asked.protocol) > 0.0)
        client = asked.protocol.client(table, rules=asked.rules, seed=secret)
    except Exception as error:
        client = UnusableClient(error)
    if before.client:
        client.restore(before.client)
    found = Reply(message.round) if message.kind == FINISH else _respond(client, message)
    last = LastAnswer(message_key(message), envelope.step, found)
    state = _after(before, last, client, reading, over=_final(message, asked))
    state.save(folder)
    _tried("old runs not forgotten", config.forget_old_runs)
    if state.over:
        # Nobody would look at a report of each of perhaps a thousand clients.
        results = config.output / envelope.session
        _tried(
            "no row values", lambda: save_rows(client, asked.protocol, asked.rules, config, folder=results, table=None)
        )
    return last


def _respond(client: ClientProtocol, message: Message) -> Reply | Failure:
    try:
        return client.answer(message)
    except Exception as error:
        log_error(error, "failed")
        return Failure.of(error).redacted()


def simulated_table(
    config: NodeConfig, simulation: Mapping[str, Any], reading: Reading | None, *, private: bool
) -> Table:
    """The rows of a simulated node: those that its app loads, or its part of a named data set."""
    assert config.partition is not None
    if config.source is not None:
        return own_table(config, reading, private=private)
    return _partition(json.dumps(dict(simulation), sort_keys=True), config.partition)


@lru_cache(maxsize=4)
def _partition(simulation: str, partition: int) -> Table:
    from fedbary.guard.simulated_tables import partition_table

    return partition_table(json.loads(simulation), partition)
