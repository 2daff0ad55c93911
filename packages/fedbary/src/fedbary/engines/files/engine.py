"""Engines that carry files: questions and their answers, or cards that are valued as they are."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fedbary.data.atomic import write_atomically
from fedbary.engines.files.message_file import AnswerFiles, CardFile, FileKind, MessageFile, save_question
from fedbary.engines.run import SILENT, Engine, Observer, Work
from fedbary.errors import DataError, FedbaryError, ProtocolError, SettingsError, Waiting, wrong_parameter
from fedbary.forms import array_text, text_array
from fedbary.guard.node import FINISH, Envelope, Question
from fedbary.guard.policy import most_messages
from fedbary.notes import Note
from fedbary.protocols.cards.client import card_reply
from fedbary.protocols.messages import NO_ANSWER, Failure, Message, Reply, State
from fedbary.valuation.outcome import Outcome
from fedbary.valuation.result import Valuation, with_outcomes
from fedbary.valuation.storage import row_file_names

ANSWERS, QUESTION = "answers", "question"
_SEED = "seed"


class FilesEngine(Engine):
    """Runs a protocol with clients who get their questions as files, and send their answers as files.

    A run stops with `Waiting` until the answers lie there; the same call goes on then, over as many rounds as the
    protocol has. Owners answer with ``fedbary answer``.

    Parameters
    ----------
    folder : path
        The study: questions are written here, ``NAME.fb`` for each client, and what is needed to go on.
    clients : sequence of str, optional
        Who is asked. Left out, one ``question.fb`` is for anybody, and a client is called as its answer's file; only
        for protocols of one message.
    answers : paths, optional
        Files, or folders of them. Default: the folder ``answers`` in ``folder``.
    wait : bool
        Whether to wait for everybody; otherwise who has not answered is left out of the round.

    Examples
    --------
    >>> import tempfile
    >>> import fedbary as fb
    >>> digits = fb.datasets.load("digits")
    >>> study = fb.FilesEngine(tempfile.mkdtemp(), clients=["north", "south"])
    >>> try:
    ...     fb.value(None, digits.test, engine=study, seed=0)
    ... except fb.Waiting as waiting:
    ...     waiting.names, sorted(file.name for file in study.folder.glob("*.fb"))
    (('north', 'south'), ['north.fb', 'south.fb'])
    """

    networked = True
    one_answer = True
    patient = True
    folder: Path

    def __init__(
        self,
        folder: str | Path,
        *,
        clients: Sequence[str] | None = None,
        answers: Iterable[str | Path] | None = None,
        wait: bool = True,
    ) -> None:
        names = None if clients is None else [str(name) for name in clients]
        if isinstance(clients, str) or (names is not None and (not names or len(set(names)) < len(names))):
            raise wrong_parameter("clients", "FilesEngine", "a list of different names", clients)
        self.folder, self.wait = Path(folder), wait
        self._registered = names
        self.places = [self.folder / ANSWERS] if answers is None else [Path(place) for place in answers]
        self._files = AnswerFiles(self.places)
        self._session = self._settings = ""
        self._row_values_after: frozenset[str] = frozenset()
        self._steps: dict[str, int] = {}
        self._flagged: dict[str, int] = {}
        self._notes: dict[str, tuple[Note, ...]] = {}

    def clients(self, work: Work, state: State, observer: Observer = SILENT) -> list[str]:  # noqa: ARG002
        """Who is asked; where anybody may answer, those who have."""
        if work.tables is not None:
            raise SettingsError("engines.rows-are-at-the-nodes")
        if self._registered is None and most_messages(work.protocol) > 1:
            raise SettingsError("engines.files-need-names", protocol=work.protocol.name)
        self._settings = Question(work.protocol, work.rules, {}).to_json()
        self._row_values_after = work.protocol.row_values_after
        self._files = AnswerFiles(self.places)  # more of them may lie there than at the last call
        self._session, self._steps, self._flagged, self._notes = "", {}, {}, {}
        if state:
            content = json.loads(array_text(state["files"]))
            self._session, self._steps, self._flagged = content["session"], content["steps"], content["flagged"]
            self._notes = {
                name: tuple(Note.from_json(note) for note in notes) for name, notes in content["notes"].items()
            }
        if self._registered is not None:
            return list(self._registered)
        # Without an answer there is still a question to write.
        return self._files.names() or [QUESTION]

    def exchange(self, tasks: Mapping[str, Message], observer: Observer = SILENT) -> dict[str, Reply | Failure]:
        """Write the questions that are not written yet, and take the answers; raises `Waiting` where some lack."""
        observer.asked(next(iter(tasks.values())).kind, list(tasks))
        asked = self._asked(tasks)
        if self._registered is None:
            found = self._files.by_name(next(iter(asked.values())))
        else:
            found = self._files.by_nonce(asked)
        missing = [name for name in tasks if name not in found]
        if missing and (self.wait or (self._registered is None and missing == [QUESTION])):
            names = None if self._registered is None else tuple(missing)
            unused = " ".join(map(str, self._files.not_used(sessions=[self._session])))
            raise Waiting("engines.waiting", names=names, folder=str(self.folder), unused=unused or None)
        answers: dict[str, Reply | Failure] = {}
        for name in tasks:
            one = found.get(name)
            answers[name] = NO_ANSWER if one is None else one.found
            if one is not None and isinstance(one.found, Reply):  # only an answer moves a client on
                self._steps[name] = asked[name].step
                self._notes[name] = one.notes
                if one.envelope.flagged is not None:
                    self._flagged[name] = one.envelope.flagged
            observer.answered(name, answers[name])
        return answers

    def finish(self, result: Valuation, observer: Observer = SILENT) -> Valuation:  # noqa: ARG002
        """Row values stay with the owners; a last question, which nobody waits for, lets them be made."""
        valued = [name for name, outcome in result.outcomes.items() if outcome.ok]
        if valued and not self._row_values_after:
            self._asked({name: Message(FINISH, 2**30) for name in valued})
        rows = result.clients.set_index("client")["rows"].dropna().to_dict()
        flagged = {name: count for name, count in self._flagged.items() if count <= rows.get(name, -1)}
        outcomes = {
            name: replace(outcome, notes=(*outcome.notes, *self._notes.get(name, ())))
            for name, outcome in result.outcomes.items()
        }
        result = with_outcomes(result, outcomes, flagged=flagged)
        # Where anybody may answer, every file is a client.
        unused = [] if self._registered is None else self._files.not_used(sessions=[self._session])
        return replace(result, notes=(*result.notes, *unused), _rows_at="what `fedbary answer` wrote for its owner")

    def state(self) -> State:
        """The run's name, and how far each client is."""
        notes = {name: [note.to_json() for note in own] for name, own in self._notes.items()}
        content = {"session": self._session, "steps": self._steps, "flagged": self._flagged, "notes": notes}
        return {"files": text_array(json.dumps(content))}

    def facts(self) -> dict[str, Any]:
        """The engine, and that its clients are other parties."""
        return {"engine": "files", "networked": True}

    def drawn_seed(self) -> int:
        """The seed that the first call drew: questions must be the same in all of them."""
        file = self.folder / _SEED
        if not file.is_file():
            self.folder.mkdir(parents=True, exist_ok=True)
            seed = super().drawn_seed()
            write_atomically(file, lambda draft: draft.write_text(f"{seed}\n", encoding="ascii"))
        text = file.read_text(encoding="utf-8").strip()
        if not (text.isascii() and text.isdecimal()):
            raise ProtocolError("engines.study-of-another-run", folder=str(self.folder))
        return int(text)

    def _asked(self, tasks: Mapping[str, Message]) -> dict[str, Envelope]:
        """What stands on the question of each client; written where it is not there yet."""
        if self._registered is None:
            message = next(iter(tasks.values()))
            return dict.fromkeys(tasks, self._question(QUESTION, 1, message))
        names = row_file_names(self._registered)
        return {
            name: self._question(names[name], self._steps.get(name, 0) + 1, message) for name, message in tasks.items()
        }

    def _question(self, name: str, step: int, message: Message) -> Envelope:
        file = self.folder / f"{name if step == 1 else f'{name}-{step}'}{FileKind.QUESTION.suffix}"
        if not file.is_file():
            self._session = self._session or secrets.token_hex(16)
            place = message.kind, message.round, step
            envelope = Envelope(self._session, *place, settings=self._settings, nonce=secrets.token_hex(16))
            save_question(message, envelope, file)
            return envelope
        written, envelope = MessageFile.load(file, FileKind.QUESTION).message()
        self._session = self._session or envelope.session
        if (written.digest, written.round) != (message.digest, message.round) or (
            (envelope.session, envelope.step, envelope.settings) != (self._session, step, self._settings)
        ):
            raise ProtocolError("engines.study-of-another-run", folder=str(self.folder))
        return envelope


MODELS = "models"


@dataclass(frozen=True)
class _Given:
    """A card, or why there is none, and where it came from."""

    name: str
    card: CardFile | None
    error: FedbaryError | None
    path: Path | None = None

    @property
    def where(self) -> str:
        return "" if self.path is None else self.path.name


class CardsEngine(Engine):
    """Values cards without asking anybody anything.

    Parameters
    ----------
    cards : iterable of CardFile or path
        The cards. A client is called as its file, or, where the card came without one, as the card says.
    answers : iterable of path
        Answers to the models of an earlier valuation of the same cards.
    folder : path, optional
        Where models are written, as ``models/NAME.model``.
    """

    networked = True
    one_answer = True

    def __init__(
        self,
        cards: Iterable[CardFile | str | Path],
        *,
        answers: Iterable[str | Path] = (),
        folder: str | Path | None = None,
    ) -> None:
        self._given = [_given(card) for card in cards]
        self._answers = AnswerFiles(answers)
        self._models = None if folder is None else Path(folder) / MODELS
        self._flagged: dict[str, int] = {}
        self._nonces: list[str] = []

    def clients(self, work: Work, state: State, observer: Observer = SILENT) -> list[str]:  # noqa: ARG002
        """The clients by their cards."""
        if work.tables is not None:
            raise SettingsError("engines.rows-are-at-the-nodes")
        return list(dict.fromkeys(given.name for given in self._given))

    def exchange(self, tasks: Mapping[str, Message], observer: Observer = SILENT) -> dict[str, Reply | Failure]:
        """The cards themselves; then models are written, and answered by whoever has answered."""
        kind = next(iter(tasks.values())).kind
        observer.asked(kind, list(tasks))
        answers: dict[str, Reply | Failure] = {}
        if kind == "card":
            answers = {name: self._card(name) for name in tasks}
        elif kind == "model":
            answers = self._modelled(tasks)
        found = {name: answers.get(name, NO_ANSWER) for name in tasks}
        for name, answer in found.items():
            observer.answered(name, answer)
        return found

    def finish(self, result: Valuation, observer: Observer = SILENT) -> Valuation:  # noqa: ARG002
        """What is worth saying about files; row values are their owners', by the models."""
        outcomes = {name: self._said(name, outcome) for name, outcome in result.outcomes.items()}
        unused = self._answers.not_used(nonces=self._nonces)
        result = with_outcomes(result, outcomes, flagged=self._flagged)
        return replace(result, notes=(*result.notes, *unused), _rows_at="`fedbary rows TABLE --model` at its owner")

    def facts(self) -> dict[str, Any]:
        """The engine, and that its clients are other parties."""
        return {"engine": "files", "networked": True}

    def _card(self, name: str) -> Reply | Failure:
        mine = self._of(name)
        if len(mine) > 1 and len({_card_digest(given) for given in mine}) > 1:
            # Files of one client are called the same, so that only their folders tell them apart.
            files = tuple(given.name if given.path is None else str(given.path) for given in mine)
            return Failure.of(DataError("engines.two-cards", files=files))
        if (error := mine[0].error) is not None:
            return Failure.of(error)
        assert mine[0].card is not None
        return card_reply(mine[0].card.card)

    def _modelled(self, tasks: Mapping[str, Message]) -> dict[str, Reply | Failure]:
        if self._models is None:
            return {}
        asked = {name: self._written(self._models, name, message) for name, message in tasks.items()}
        self._nonces = [envelope.nonce for envelope in asked.values()]
        found = self._answers.by_nonce(asked)
        self._flagged = {name: one.envelope.flagged for name, one in found.items() if one.envelope.flagged is not None}
        return {name: one.found for name, one in found.items()}

    def _written(self, folder: Path, name: str, message: Message) -> Envelope:
        """What stands on a client's model; one that was written before with the same content stays as it is."""
        own = self._of(name)[0].card
        assert own is not None
        names = row_file_names(list(dict.fromkeys(given.name for given in self._given)))
        file = folder / f"{names[name]}{FileKind.MODEL.suffix}"
        envelope = Envelope(own.session, message.kind, message.round, 2, nonce=secrets.token_hex(16))
        if file.is_file():
            try:
                before, written = MessageFile.load(file, FileKind.MODEL).message()
            except FedbaryError:
                before = None
            if before is not None and before.digest == message.digest and written.session == own.session:
                return written
        save_question(message, envelope, file, FileKind.MODEL)
        return envelope

    def _said(self, name: str, outcome: Outcome) -> Outcome:
        mine = self._of(name)
        if not outcome.ok:
            where = mine[0].where
            notes = [
                note if "where" in note.facts or not where else Note(note.code, {**note.facts, "where": where})
                for note in outcome.notes
            ]
            return replace(outcome, notes=tuple(notes))
        claimed = "" if mine[0].card is None else mine[0].card.name
        if not claimed or claimed == name:
            return outcome
        return replace(outcome, notes=(*outcome.notes, Note("engines.claims-name", {"name": claimed})))

    def _of(self, name: str) -> list[_Given]:
        return [given for given in self._given if given.name == name]


def _given(card: CardFile | str | Path) -> _Given:
    if isinstance(card, CardFile):
        if not card.name:
            raise SettingsError("engines.card-without-name")
        return _Given(card.name, card, None)
    path = Path(card)
    try:
        return _Given(path.stem, CardFile.load(path), None, path)
    except FedbaryError as error:
        return _Given(path.stem, None, error, path)


def _card_digest(given: _Given) -> str:
    return str(given.path) if given.card is None else given.card.file().digest
