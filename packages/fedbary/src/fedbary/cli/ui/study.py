"""A study: a folder with questions for clients who answer by files, and with what is needed to read the answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.cli.ui.client_files import read_reference
from fedbary.data.options import ReadOptions
from fedbary.errors import DataError, FedbaryError
from fedbary.space.options import Space
from fedbary.strict_json import read_json

if TYPE_CHECKING:
    from fedbary.engines.events import Listener
    from fedbary.guard.node import Asked
    from fedbary.valuation.result import Valuation

NAME, VERSION = "study.json", 2
_MOST_BYTES = 2**20


@dataclass(frozen=True)
class Study:
    """What was asked, of whom, and with which reference; ``clients`` is None where anybody may answer."""

    asked: Asked
    space: Space
    seed: int
    label: str
    row_id: str | None = None
    reference: str | None = None
    clients: tuple[str, ...] | None = None
    reading: ReadOptions = field(default_factory=ReadOptions)

    def save(self, folder: Path) -> None:
        """Write it into the folder."""
        from fedbary.data.atomic import write_atomically

        content: dict[str, Any] = {"fedbary": "study", "version": VERSION, "asked": self.asked.to_json()}
        rest = ("seed", "label", "row_id", "reference", "clients")
        content |= {"space": asdict(self.space), **{name: getattr(self, name) for name in rest}}
        content["reading"] = self.reading.given()
        content["schema"] = getattr(self.asked.protocol, "schema", None)  # a question does not say where it lies
        text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        write_atomically(folder / NAME, lambda draft: draft.write_text(text, encoding="utf-8"))

    @classmethod
    def load(cls, folder: Path) -> Study:
        """Read what `save` wrote."""
        from fedbary.guard.node import Asked

        file = folder / NAME
        try:
            content = read_json(file.read_text(encoding="utf-8"), longest=_MOST_BYTES)
            if content.pop("fedbary") != "study" or content.pop("version") != VERSION:
                raise ValueError("another version")
            clients = content.pop("clients")
            asked, space = Asked.from_json(content.pop("asked")), Space(**content.pop("space"))
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
    return (path / NAME).is_file()
