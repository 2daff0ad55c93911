"""`fedbary show`: all that is in a file which is sent or was received, in words; arrays by name, shape and range."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.cli.ui.command import command
from fedbary.cli.ui.options import argument
from fedbary.cli.ui.session import one_line
from fedbary.errors import FedbaryError
from fedbary.views.page import HEADING, Grid, Line, Page, Part
from fedbary.wording import counted, headline_percent, listed

if TYPE_CHECKING:
    import numpy as np

    from fedbary.data.reading import Reading
    from fedbary.engines.files.message_file import MessageFile
    from fedbary.protocols.cards.card import CardColumn
    from fedbary.space.columns import ColumnSpec

_MEANING = {
    "question": "A question to a data owner, who answers it with `fedbary answer TABLE FILE`.",
    "answer": "A data owner's answer to a question; the coordinator reads it with `fedbary value`.",
    "card": "A data owner's card; the coordinator reads it with `fedbary value`.",
    "model": "A model for one data owner, made of the others' cards; read it with `fedbary rows TABLE --model FILE`.",
}
_LONGEST, _MOST_NAMES = 60, 12


@command("fedbary show mine.card")
def show(file: Path = argument("A question (.fb), answer, card or model.", "FILE")) -> Page:
    """Print everything that a question, an answer, a card or a model holds.

    FILE is what you are about to send, or what you were sent: nothing else is in it. Arrays are shown by their name,
    size and range; --json prints every number.
    """
    from fedbary.engines.files.message_file import MessageFile

    return file_page(MessageFile.load(file))


def file_page(file: MessageFile) -> Page:
    """Everything in a file, in words."""
    parts: list[Part] = [Line(_MEANING[file.kind], HEADING)]
    parts += [f"{name}: {one_line(said)}" for name, said in facts(file).items()]
    rows = [(name, type(value).__name__, _short(value)) for name, value in file.packed.scalars.items()]
    rows += [(name, shape_of(array), _range(array)) for name, array in file.packed.arrays.items()]
    parts += [Grid(("name", "kind", "value"), rows)] if rows else []
    return Page([*parts, f"digest {file.digest}"], for_programs(file))


def for_programs(file: MessageFile) -> dict[str, Any]:
    """The same with every number."""
    packed = file.packed
    content = {"kind": str(file.kind), "digest": file.digest, "head": dict(packed.head)}
    return content | {"scalars": dict(packed.scalars), "arrays": arrays_of(packed.arrays, "type")}


def arrays_of(arrays: Mapping[str, np.ndarray], kind: str) -> dict[str, Any]:
    return {
        name: {"shape": list(array.shape), kind: str(array.dtype), "values": array} for name, array in arrays.items()
    }


def facts(file: MessageFile) -> dict[str, str]:
    """What stands on a file, and what its texts say, by what it is called; what cannot be read says why."""
    head = file.packed.head
    said: dict[str, str] = {}

    def add(name: str, read: Callable[[], dict[str, str]]) -> None:
        try:
            said.update(read())
        except FedbaryError as error:
            said[name] = str(error)

    if file.kind != "card":
        session = f", message {head.get('step', 0)} of run {str(head['session'])[:8]}" if head.get("session") else ""
        said["asks" if file.kind in ("question", "model") else "answers"] = f"'{head.get('kind', '')}'{session}"
    if head.get("name"):
        said["calls itself"] = str(head["name"])
    if "flagged" in head:
        said["flagged rows"] = str(head["flagged"])
    if "failure" in head:
        add("no answer", lambda: {"no answer": _notes(file)})
    if head.get("settings"):
        add("protocol", lambda: _settings(str(head["settings"])))
    if file.kind == "card":
        add("card", lambda: _card(file))
    if "schema" in file.packed.scalars:
        add("schema", lambda: _schema(str(file.packed.scalars["schema"])))
    if head.get("notes"):
        add("notes", lambda: {"notes": "" if "failure" in head else _notes(file)})
    if file.kind == "answer" and (told := _told(file)):
        said["tells"] = told
    return said


def _told(file: MessageFile) -> str:
    """What the fields of an answer tell, in the words of their record."""
    from fedbary.protocols.forms import by_meaning, words
    from fedbary.protocols.registry import PROTOCOLS, exchanges_of

    kind, sent = str(file.packed.head.get("kind")), (*file.packed.scalars, *file.packed.arrays)
    records = [exchanges_of(name)[kind].reply for name in PROTOCOLS if kind in exchanges_of(name)]
    fields, settings = records[0].fields if records else {}, {"epsilon": 1.0} if "noise" in sent else {}
    return by_meaning((words(fields[name], settings), name) for name in sent if name in fields)


def _notes(file: MessageFile) -> str:
    """Why there is no answer, or what is said with it."""
    from fedbary.protocols.messages import Failure

    answer, _ = file.reply()
    return str(answer.note) if isinstance(answer, Failure) else "; ".join(str(note) for note in answer.notes)


def _settings(text: str) -> dict[str, str]:
    from fedbary.guard.node import Question

    protocol = Question.from_json(text).protocol
    default = type(protocol)()
    chosen = {key: value for key, value in asdict(protocol).items() if value != getattr(default, key)}
    words = ", ".join(f"{key} = {value}" for key, value in chosen.items())
    return {"protocol": protocol.name + (f" with {words}" if words else "")}


def _schema(text: str) -> dict[str, str]:
    from fedbary.space.schema import Schema

    schema = Schema.from_json(text)
    label, columns = schema.label, listed([_column(column) for column in schema.columns], _MOST_NAMES)
    words = f"a number about {label.mean:.4g}"
    if label.kind != "number":
        words = f"{counted(len(label.classes), 'class')}: {listed(label.classes, _MOST_NAMES)}"
    return {"columns": f"{counted(len(schema.columns), 'column')}: {columns}", "label": f"{label.name}, {words}"}


def _column(column: ColumnSpec) -> str:
    if column.kind == "categorical":
        return f"{column.name} ({listed(column.categories, 4) or 'any level'})"
    return column.name if column.width == 1 else f"{column.name} ({column.width} numbers)"


def _card(file: MessageFile) -> dict[str, str]:
    from fedbary.engines.files.message_file import CardFile
    from fedbary.protocols.cards.placing import missing_of_columns

    card = CardFile.of(file, "the card").card
    lacks = missing_of_columns(card)
    columns = [_column_of_card(column, lacks[column.name], card.reading) for column in card.columns]
    said = {"rows": f"{card.rows:,}"}
    if card.schema is None:
        said["columns"] = f"{counted(len(columns), 'column')}: {listed(columns, _MOST_NAMES)}"
    else:
        said["coordinates"] = f"{card.width}, as a public schema says"
    if card.kind == "classes":
        classes = [f"{name} ({count:,.0f})" for name, count in zip(card.classes, card.counts.tolist(), strict=True)]
        said["label"] = f"{card.label}, different rows of {counted(len(classes), 'class')}: {listed(classes, 30)}"
    else:
        said["label"] = f"{card.label}, a number"
    if card.release is not None:
        noise = card.release
        said["privacy"] = (
            f"noise for epsilon = {noise.epsilon:g}, delta = {noise.delta:g}, sigma = {noise.sigma:.4g} relative to "
            f"rows of norm {noise.clip:g}; whoever reads it learns hardly more than without any one row"
        )
        return said
    told = "and how columns vary together" if card.full else "and how much each column varies"
    said["shows"] = f"exactly how many different rows each class has, their means in every column, {told}"
    said["guards"] = "what few rows alone have is left out (docs/cards.md): stops known attacks, proves nothing"
    if card.shared:
        said["shared"] = "another client may receive a model that is made of this card and no other"
    return said


def _column_of_card(column: CardColumn, missing: float, reading: Reading) -> str:
    lacks = f"{headline_percent(missing)} missing" if column.lacks else ""
    if column.kind == "categorical":
        said = [listed(column.levels, 6) or "no level", lacks]
    else:
        read_as = reading[column.name].kind if column.name in reading else "number"
        said = ["" if read_as == "number" else read_as, "" if column.width == 1 else f"{column.width} numbers", lacks]
    inside = ", ".join(filter(None, said))
    return f"{column.name} ({inside})" if inside else column.name


def _short(value: object) -> str:
    text = repr(value) if not isinstance(value, str) else value
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text):,} characters)"


def shape_of(array: np.ndarray) -> str:
    return f"{'×'.join(map(str, array.shape)) or '1'} {array.dtype}"


def _range(array: np.ndarray) -> str:
    if not array.size:
        return "empty"
    least, most = array.min().item(), array.max().item()
    return f"{least:.6g}" if least == most else f"{least:.6g} to {most:.6g}"
