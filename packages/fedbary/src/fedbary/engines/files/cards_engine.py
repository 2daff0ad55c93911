"""`CardsEngine`: cards that came as files are valued as they are; models go out as files, and nobody is waited for."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fedbary.engines.files.answer_files import AnswerFiles
from fedbary.engines.files.card_file import CardFile
from fedbary.engines.files.message_file import FileKind, MessageFile, save_question
from fedbary.engines.run import SILENT, Engine, Observer, Work
from fedbary.errors import DataError, FedbaryError, SettingsError
from fedbary.guard.envelope import Envelope
from fedbary.notes import Note
from fedbary.protocols.cards.client import card_reply
from fedbary.protocols.messages import NO_ANSWER, Failure, Message, Reply, State
from fedbary.valuation.outcome import Outcome
from fedbary.valuation.result import Valuation, with_outcomes
from fedbary.valuation.storage import row_file_names

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
        if len(mine) > 1 and len({_digest(given) for given in mine}) > 1:
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


def _digest(given: _Given) -> str:
    return str(given.path) if given.card is None else given.card.file().digest
