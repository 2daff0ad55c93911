"""What `fedbary show` prints: all that a file holds, in words; arrays by name, shape and range."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

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
    from fedbary.space.labels import LabelSpec

_MEANING = {
    "question": "A question to a data owner, who answers it with `fedbary answer TABLE FILE`.",
    "answer": "A data owner's answer to a question; the coordinator reads it with `fedbary value`.",
    "card": "A data owner's card; the coordinator reads it with `fedbary value`.",
    "model": "A model for one data owner, made of the others' cards; read it with `fedbary rows TABLE --model FILE`.",
}
_LONGEST, _MOST_NAMES = 60, 12


def file_page(file: MessageFile) -> Page:
    """Everything in a file, in words."""
    parts: list[Part] = [Line(_MEANING[file.kind], HEADING)]
    parts += [f"{name}: {one_line(said)}" for name, said in facts(file).items()]
    scalars = [(name, type(value).__name__, _short(value)) for name, value in file.packed.scalars.items()]
    arrays = [(name, _shape(array), _range(array)) for name, array in file.packed.arrays.items()]
    parts += [Grid(("name", "kind", "value"), [*scalars, *arrays])] if scalars or arrays else []
    return Page([*parts, f"digest {file.digest}"], for_programs(file))


def facts(file: MessageFile) -> dict[str, str]:
    """What stands on a file, and what its texts say, by what it is called."""
    head = file.packed.head
    said: dict[str, str] = {}
    if file.kind != "card":
        said["asks" if file.kind in ("question", "model") else "answers"] = _place(head)
    if head.get("name"):
        said["calls itself"] = str(head["name"])
    if "flagged" in head:
        said["flagged rows"] = str(head["flagged"])
    if "failure" in head:
        said["no answer"] = _why(file)
    if head.get("settings"):
        said |= _settings(str(head["settings"]))
    if file.kind == "card":
        said |= _card(file)
    if "schema" in file.packed.scalars:
        said |= _schema(str(file.packed.scalars["schema"]))
    if head.get("notes"):
        said["notes"] = _notes(file)
    return said


def for_programs(file: MessageFile) -> dict[str, Any]:
    """The same with every number."""
    arrays = {
        name: {"shape": list(array.shape), "type": str(array.dtype), "values": array}
        for name, array in file.packed.arrays.items()
    }
    content = {"kind": str(file.kind), "digest": file.digest, "head": dict(file.packed.head)}
    return content | {"scalars": dict(file.packed.scalars), "arrays": arrays}


def _place(head: Any) -> str:
    place = f"'{head.get('kind', '')}', message {head.get('step', 0)} of run {str(head.get('session', ''))[:8]}"
    return place if head.get("session") else f"'{head.get('kind', '')}'"


def _why(file: MessageFile) -> str:
    from fedbary.protocols.messages import Failure

    try:
        found, _ = file.reply()
    except FedbaryError as error:
        return str(error)
    assert isinstance(found, Failure)
    return str(found.note)


def _notes(file: MessageFile) -> str:
    from fedbary.protocols.messages import Reply

    try:
        found, _ = file.reply()
    except FedbaryError as error:
        return str(error)
    return "; ".join(str(note) for note in found.notes) if isinstance(found, Reply) else ""


def _settings(text: str) -> dict[str, str]:
    from fedbary.guard.node import Asked

    try:
        asked = Asked.from_json(text)
    except FedbaryError as error:
        return {"protocol": str(error)}
    default = type(asked.protocol)()
    chosen = {key: value for key, value in asdict(asked.protocol).items() if value != getattr(default, key)}
    words = ", ".join(f"{key} = {value}" for key, value in chosen.items())
    return {"protocol": asked.protocol.name + (f" with {words}" if words else "")}


def _schema(text: str) -> dict[str, str]:
    from fedbary.space.schema import Schema

    try:
        schema = Schema.from_json(text)
    except FedbaryError as error:
        return {"schema": str(error)}
    columns = listed([_column(column) for column in schema.columns], _MOST_NAMES)
    return {"columns": f"{counted(len(schema.columns), 'column')}: {columns}", "label": _label(schema.label)}


def _card(file: MessageFile) -> dict[str, str]:
    from fedbary.engines.files.message_file import CardFile
    from fedbary.protocols.cards.placing import missing_of_columns

    try:
        card = CardFile.of(file, "the card").card
    except FedbaryError as error:
        return {"card": str(error)}
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


def _column(column: ColumnSpec) -> str:
    if column.kind == "categorical":
        return f"{column.name} ({listed(column.categories, 4) or 'any level'})"
    return column.name if column.width == 1 else f"{column.name} ({column.width} numbers)"


def _label(label: LabelSpec) -> str:
    if label.kind == "number":
        return f"{label.name}, a number about {label.mean:.4g}"
    return f"{label.name}, {counted(len(label.classes), 'class')}: {listed(label.classes, _MOST_NAMES)}"


def _short(value: object) -> str:
    text = repr(value) if not isinstance(value, str) else value
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text):,} characters)"


def _shape(array: np.ndarray) -> str:
    return f"{'×'.join(map(str, array.shape)) or '1'} {array.dtype}"


def _range(array: np.ndarray) -> str:
    if not array.size:
        return "empty"
    least, most = array.min().item(), array.max().item()
    return f"{least:.6g}" if least == most else f"{least:.6g} to {most:.6g}"
