"""The owner's machine as a dishonest server meets it: the real half behind policy and ledger, by any engine."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fedbary.data.table import Table
from fedbary.engines.files.message_file import FileKind, MessageFile
from fedbary.engines.files.owner import answer_file, make_card
from fedbary.engines.packed import packed_message
from fedbary.errors import PrivacyError
from fedbary.guard import node
from fedbary.guard.guarded_client import GuardedClient, refusal
from fedbary.guard.ledger import Ledger
from fedbary.guard.node import Envelope
from fedbary.guard.node_config import NodeConfig, TableSource
from fedbary.guard.policy import OwnerPolicy
from fedbary.protocols.cards import Cards
from fedbary.protocols.messages import ClientProtocol, Failure, Message, Reply, Settings
from fedbary.space.schema import Schema
from fedbary.valuation.rows import RowRules

Ask = Callable[[Message], Reply | Failure]


def reached(
    engine: str, table: Callable[[], Table], settings: Settings, policy: OwnerPolicy, *, folder: Path, run: str
) -> Ask:
    """A run at a node, or by files, of the owner whose home this folder is: whatever the engine, it has one ledger.

    A Flower node and a FLARE site are both `fedbary.guard.node`.
    """
    rules, data = folder / "policy.toml", folder / "mine.csv"
    rules.write_text(policy.to_toml(), encoding="utf-8")
    asked = node.Question(settings, RowRules(), {}).to_json()
    envelope = Envelope(run, settings=asked)

    def ask(message: Message) -> Reply | Failure:
        nonlocal envelope
        envelope = replace(envelope, kind=message.kind, round=message.round, step=envelope.step + 1)
        rows, label = table().to_frame(), table().label_name
        config = NodeConfig(folder, folder / "results", "owner", label=label, policy=rules, report=False)
        if engine == "node":
            return node.answer(message, envelope, replace(config, source=TableSource(lambda: rows)))[0]
        rows.to_csv(data, index=False)
        config = replace(config, data=data)
        try:
            if message.kind != "card":
                kind = FileKind.MODEL if isinstance(settings, Cards) else FileKind.QUESTION
                return answer_file(MessageFile.of(kind, packed_message(message, envelope)), config).reply()[0]
            assert isinstance(settings, Cards)
            schema = message.scalars.get("schema")
            made = make_card(config, settings, schema=None if schema is None else Schema.from_json(str(schema)))
            if isinstance(made, Failure):
                return made
            found, own = made.reply()
        except Exception as error:  # said to the owner alone
            return Failure.of(error).redacted()
        envelope = replace(envelope, session=own.session)
        return found

    return ask


# Ledgers wait for the disk; those of an audit are thrown away, so memory will do where the system has it as a folder.
_MEMORY = "/dev/shm"  # noqa: S108


@dataclass(frozen=True)
class Defence:
    """What an owner relies on: the settings that a server asks for, and the policy that has the last word.

    ``policy`` is None where nobody guards: the client answers as in one process.
    """

    asked: Settings
    policy: OwnerPolicy | None

    @property
    def settings(self) -> Settings:
        """The settings in force; raises where the policy refuses those that were asked for."""
        return self.asked if self.policy is None else self.policy.applied(self.asked)

    @property
    def epsilon(self) -> float | None:
        """The ε of one answer, if there is one."""
        return self.settings.trust.epsilon or None

    @property
    def one_question(self) -> bool:
        """Whether the owner's ledger stops a second question about the same rows."""
        if self.policy is None:
            return False
        budget, epsilon = self.policy.epsilon_budget, self.epsilon
        spent = budget is not None and epsilon is not None and budget < 2.0 * epsilon
        return spent or self.policy.most_questions == 1

    @contextmanager
    def owner(self, table: Table, rng: np.random.Generator) -> Iterator[Owner]:
        """An owner with these rows, whom nobody has asked yet."""
        folder = Path(tempfile.mkdtemp(prefix="fedbary-audit-", dir=_MEMORY if os.access(_MEMORY, os.W_OK) else None))
        try:
            yield Owner(self, table, folder, int(rng.integers(2**62)))
        finally:
            shutil.rmtree(folder, ignore_errors=True)


class Owner:
    """An owner's machine: rows, a secret, and a ledger in a folder of its own."""

    def __init__(self, defence: Defence, table: Table, folder: Path, secret: int) -> None:
        self.defence = defence
        self.table = table
        self.engine = "local"
        self._folder = folder
        self._secret = secret
        self._sessions = 0
        (folder / "secret").write_text(str(secret))

    def session(self) -> Session:
        """A new run, which the server may name as it likes."""
        self._sessions += 1
        asked, policy, run, rules = self.defence.asked, self.defence.policy, f"{self._sessions:032x}", RowRules()
        if policy is None:
            return Session(_unguarded(asked.client(self.table, rules=rules, seed=self._secret)))
        if self.engine != "local":
            return Session(reached(self.engine, lambda: self.table, asked, policy, folder=self._folder, run=run))
        ledger = Ledger(self._folder / "ledger.jsonl")
        try:
            client = GuardedClient.for_table(
                self.table, asked, policy=policy, ledger=ledger, run=run, seed=self._secret, rules=rules
            )
        except PrivacyError as error:
            refused = refusal(error)
            return Session(lambda _: refused)
        return Session(client.respond)

    def ask(self, message: Message) -> Reply | Failure:
        """The answer to one message in a run of its own."""
        return self.session().ask(message)


@dataclass(frozen=True)
class Session:
    """One run: what leaves for each message of it, an answer, or why there is none."""

    ask: Ask


def _unguarded(client: ClientProtocol) -> Ask:
    def ask(message: Message) -> Reply | Failure:
        try:
            return client.answer(message)
        except Exception as error:
            return Failure.of(error).redacted()

    return ask


@contextmanager
def undisturbed() -> Iterator[None]:
    """Neither warnings nor lines of the owner's log for questions that are meant to go wrong."""
    log = logging.getLogger("fedbary.owner")
    before, log.disabled = log.disabled, True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.disabled = before
