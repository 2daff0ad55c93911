"""Cards, answers and studies among what a user typed to `fedbary value`, and their valuation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.cli.ui.client_files import read_reference
from fedbary.cli.ui.study import Study, is_study
from fedbary.errors import DataError, SettingsError

if TYPE_CHECKING:
    from fedbary.data.options import ReadOptions
    from fedbary.engines.events import Listener
    from fedbary.protocols.messages import Settings
    from fedbary.valuation.result import Valuation


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

    def refuse_settings(self, **typed: object) -> None:
        """A study was asked with its settings: others, typed now, would not hold."""
        given = [f"--{name.replace('_', '-')}" for name, value in typed.items() if value is not None]
        if given:
            raise SettingsError("cli.study-has-settings", folder=str(self.study), options=", ".join(given))

    def of_study(self, *, reference: Path | None, wait: bool, progress: Listener | None) -> Valuation:
        """Value who has answered; a study of several rounds goes on, and waits for everybody if it is told to."""
        from fedbary.guard.policy import most_messages

        assert self.study is not None
        study = Study.load(self.study)
        several = most_messages(study.asked.protocol) > 1
        return study.run(self.study, self.answers, wait=wait and several, reference=reference, progress=progress)

    def of_cards(
        self, settings: Settings, output: Path, *, reference: Path | None, reading: ReadOptions, **of_run: Any
    ) -> Valuation:
        """Value the cards; models for their owners are written into the output folder."""
        from fedbary import FilesEngine, value

        rows = None if reference is None else read_reference(reference, _label(self.cards), None, reading)
        engine = FilesEngine(output, answers=self.answers)
        return value(list(self.cards), rows, protocol=settings, engine=engine, **of_run)


def _expanded(pattern: str) -> list[Path]:
    path = Path(pattern)
    if path.exists() or not any(letter in pattern for letter in "*?["):
        inside = sorted(path.glob("*.card")) if path.is_dir() and not is_study(path) else []
        return inside or [path]
    return [Path(found) for found in sorted(glob(pattern))] or [path]  # noqa: PTH207 - a pattern may be absolute


def _label(cards: Iterable[Path]) -> str:
    """The label's name, by the first card that can be read."""
    from fedbary.engines.files.message_file import CardFile
    from fedbary.errors import FedbaryError

    for path in cards:
        try:
            return CardFile.load(path).card.label
        except FedbaryError:
            continue
    return "label"
