"""What a user typed to be valued: tables, and the rows that they are compared with; or a study, cards and answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.cli.ui.session import session
from fedbary.data.atomic import write_atomically
from fedbary.data.options import ReadOptions
from fedbary.data.places import resolved
from fedbary.errors import DataError, FedbaryError, SettingsError
from fedbary.filling import COMMAND
from fedbary.space.options import Space
from fedbary.strict_json import read_json
from fedbary.wording import counted, listed

if TYPE_CHECKING:
    from fedbary.data.reading import Reading
    from fedbary.data.table import Table
    from fedbary.engines.events import Listener
    from fedbary.guard.node import Question
    from fedbary.valuation.result import Valuation

_MOST_GUESSES = 12
# What is wrong with an option rather than with a file.
_OF_OPTIONS = {"data.no-such-column", "data.option-without-column", "formats.no-client-column", "formats.no-sheet"}


def given_files(files: list[str] | None) -> list[str]:
    """The files that were typed, or else those of the configuration file; there must be some."""
    # Older typers do not look into the configuration for arguments.
    chosen = files or session().configured.get("files")
    if not chosen:
        raise SettingsError("cli.no-client-given")
    return list(chosen)


def client_paths(patterns: Iterable[str], *, apart_from: Iterable[Path | None] = ()) -> dict[str, str | Path]:
    """Find the file of each client in paths, quoted globs and folders; a file named twice counts once.

    The reference often lies beside the clients' files. It is left out, as its distance to itself, zero, would
    take the whole of the shares.
    """
    from fedbary.data.files import client_files

    found: dict[str, str | Path] = {}
    for pattern in patterns:
        found |= {resolved(place): place for place in client_files(pattern).values()}
    for path in apart_from:
        if path is not None:
            found.pop(resolved(path), None)
    if not found:
        raise DataError("cli.only-reference-and-test")
    # A file system's name may not be UTF-8, which no result file could hold.
    named = client_files(list(found.values()))
    return {name.encode("utf-8", errors="backslashreplace").decode("utf-8"): path for name, path in named.items()}


def read_reference(
    path: str | Path, label: str, row_id: str | None, options: ReadOptions, agreed: Reading | None = None
) -> Table:
    """Read the reference, whose rows need no ids; but an id column that it has must not become a feature."""
    from fedbary.data.files import read
    from fedbary.data.persons import persons_if_there

    # Whose row it is, where clients share a file, is no feature of the reference either, where it says so at all.
    own = replace(options, query=None)
    try:
        return persons_if_there(lambda asked: read(path, label, id=row_id, options=asked, reading=agreed), own)
    except DataError:
        if row_id is None:
            raise
        return persons_if_there(lambda asked: read(path, label, options=asked, reading=agreed), own)


def require_some_table(tables: Mapping[str, Table | DataError]) -> None:
    """Refuse where a mistake in what was typed keeps every file from being read: it is said once."""
    errors = [table for table in tables.values() if isinstance(table, DataError)]
    if len(errors) == len(tables) and {error.code for error in errors} <= _OF_OPTIONS:
        raise errors[0]


def read_notes(tables: Mapping[str, Table | FedbaryError]) -> list[str]:
    """One sentence for each guess that was made in reading, with the clients' names where it is not true of all."""
    whose: dict[str, list[str]] = {}
    read = {name: table for name, table in tables.items() if not isinstance(table, FedbaryError)}
    for name, table in read.items():
        for note in table.notes:
            whose.setdefault(note.text(COMMAND), []).append(name)
    lines = [said if len(names) == len(read) else f"{listed(names)}: {said}" for said, names in whose.items()]
    more = counted(len(lines) - _MOST_GUESSES, "more guess")
    return (
        lines if len(lines) <= _MOST_GUESSES else [*lines[:_MOST_GUESSES], f"and {more}: `fedbary check FILE` has them"]
    )


STUDY_FILE, _VERSION = "study.json", 2
_MOST_BYTES = 2**20


@dataclass(frozen=True)
class Study:
    """What was asked, of whom, and with which reference; ``clients`` is None where anybody may answer."""

    asked: Question
    space: Space
    seed: int
    label: str
    row_id: str | None = None
    reference: str | None = None
    clients: tuple[str, ...] | None = None
    reading: ReadOptions = field(default_factory=ReadOptions)

    def save(self, folder: Path) -> None:
        """Write it into the folder."""
        content: dict[str, Any] = {"fedbary": "study", "version": _VERSION, "asked": self.asked.to_json()}
        rest = ("seed", "label", "row_id", "reference", "clients")
        content |= {"space": asdict(self.space), **{name: getattr(self, name) for name in rest}}
        content["reading"] = self.reading.given()
        content["schema"] = getattr(self.asked.protocol, "schema", None)  # a question does not say where it lies
        text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        write_atomically(folder / STUDY_FILE, lambda draft: draft.write_text(text, encoding="utf-8"))

    @classmethod
    def load(cls, folder: Path) -> Study:
        """Read what `save` wrote."""
        from fedbary.guard.node import Question

        file = folder / STUDY_FILE
        try:
            content = read_json(file.read_text(encoding="utf-8"), longest=_MOST_BYTES)
            if content.pop("fedbary") != "study" or content.pop("version") != _VERSION:
                raise ValueError("another version")
            clients = content.pop("clients")
            asked, space = Question.from_json(content.pop("asked")), Space(**content.pop("space"))
            if (schema := content.pop("schema")) is not None:
                asked = replace(asked, protocol=replace(asked.protocol, schema=str(schema)))
            reading = ReadOptions.of(content.pop("reading"))
            names = None if clients is None else tuple(map(str, clients))
            return cls(asked, space, reading=reading, clients=names, **content)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, FedbaryError) as error:
            raise DataError("cli.not-a-study", file=str(file)) from error

    def run(
        self,
        folder: Path,
        answers: Sequence[Path] = (),
        *,
        wait: bool,
        reference: Path | None = None,
        progress: Listener | None = None,
    ) -> Valuation:
        """Ask, or go on: raises `Waiting` until there are answers."""
        from fedbary import FilesEngine, value

        places = [folder / "answers", *answers]
        path = reference or (None if self.reference is None else Path(self.reference))
        return value(
            None,
            None if path is None else read_reference(path, self.label, self.row_id, self.reading),
            protocol=self.asked.protocol,
            space=self.space,
            **asdict(self.asked.rules),
            seed=self.seed,
            engine=FilesEngine(folder, clients=self.clients, answers=places, wait=wait),
            progress=progress,
        )


def is_study(path: Path) -> bool:
    """Whether a folder is one of `fedbary ask`."""
    return (path / STUDY_FILE).is_file()


@dataclass(frozen=True)
class SentFiles:
    """A study with answers, or cards with answers to their models."""

    study: Path | None
    cards: tuple[Path, ...]
    answers: tuple[Path, ...]

    @classmethod
    def among(cls, patterns: Iterable[str]) -> SentFiles | None:
        """What was typed, if it is a study or cards; None where it is tables."""
        paths = [path for pattern in patterns for path in _expanded(pattern)]
        studies = [path for path in paths if is_study(path)]
        cards = [path for path in paths if path.suffix == ".card"]
        answers = [path for path in paths if path.suffix == ".answer"]
        if not (studies or cards or answers):
            return None
        if absent := [path for path in (*cards, *answers) if not path.is_file()]:
            raise DataError("engines.no-file", file=str(absent[0]))
        other = [path for path in paths if path not in (*studies, *cards, *answers)]
        if other or len(studies) + bool(cards) != 1:
            raise SettingsError("cli.files-mixed")
        return cls(studies[0] if studies else None, tuple(cards), tuple(answers))

    def label(self) -> str:
        """The label's name, by the first card that can be read."""
        from fedbary.engines.files.message_file import CardFile

        for path in self.cards:
            try:
                return CardFile.load(path).card.label
            except FedbaryError:
                continue
        return "label"


def _expanded(pattern: str) -> list[Path]:
    path = Path(pattern)
    if path.exists() or not any(letter in pattern for letter in "*?["):
        inside = sorted(path.glob("*.card")) if path.is_dir() and not is_study(path) else []
        return inside or [path]
    return [Path(found) for found in sorted(glob(pattern))] or [path]  # noqa: PTH207 - a pattern may be absolute
