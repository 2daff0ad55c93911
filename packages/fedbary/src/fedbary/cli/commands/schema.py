"""`fedbary schema`: the coordinates of private cards, agreed on before anybody looks at a row."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fedbary.cli.ui.command import command, group, register
from fedbary.cli.ui.options import ROW_ID, SEED, argument, option
from fedbary.cli.ui.results import written
from fedbary.cli.ui.settings import OWN_READING
from fedbary.data.options import ReadOptions
from fedbary.errors import SchemaError, SettingsError
from fedbary.views.page import Line, Page
from fedbary.wording import counted, listed

if TYPE_CHECKING:
    from fedbary.space.schema import Schema

# A file of thousands of columns; whatever is larger is no description.
_LARGEST_FILE = 16 * 2**20


@command("fedbary schema make public.parquet --label diagnosis --coordinates 32 -o schema.json", reading=OWN_READING)
def make(
    file: Path = argument("A table of public rows, or a description in TOML."),
    *,
    label: str | None = option("The label column of the public rows.", "COL"),
    row_id: str | None = ROW_ID,
    coordinates: int | None = option(
        "Principal directions to keep. Default: all up to 256 coordinates, 64 above.", min=1
    ),
    task: Literal["auto", "classification", "regression"] = option("What the label is.", default="auto"),
    seed: int = SEED,
    output: Path = option("Where to write the schema.", None, "-o", "--output", default=Path("schema.json")),
    reading: ReadOptions,
) -> Page:
    """Make a public schema, in whose coordinates clients make private cards.

    FILE is a table of public rows, such as the coordinator's validation rows, never rows of a client; or a TOML file
    that says of each column its centre and scale, or its levels, and the classes of the label.
    """
    from fedbary.space.encode import PublicCoordinates

    if file.suffix.lower() == ".toml":
        typed = {"--label": label, "--id": row_id, "--coordinates": coordinates, "--seed": seed or None}
        for name, value in typed.items():
            if value is not None:
                raise SettingsError("cli.schema-options", typed=name, file=str(file))
        made = _hand_written(file)
    else:
        from fedbary.data.files import read
        from fedbary.space.fit import public_schema

        table = read(file, label or "label", id=row_id, options=reading)
        made = public_schema(table, coordinates=coordinates or "auto", task=task, seed=seed)
    made.save(output)
    assert made.clip is not None
    facts = {
        "file": str(output),
        "fingerprint": made.fingerprint,
        "columns": len(made.columns),
        "coordinates": PublicCoordinates(made).width,
        "label": made.label.name,
        "classes": list(made.label.classes),
        "clip": made.clip,
    }
    notes = [Line(f"note  {note}", whole=True) for note in made.notes]
    return Page([*notes, Line(_in_words(made, PublicCoordinates(made).width), whole=True), written(output)], facts)


def _hand_written(file: Path) -> Schema:
    from fedbary.space.hand_written import hand_written_schema

    if not file.is_file():
        raise SchemaError("schema.no-file", file=str(file))
    if file.stat().st_size > _LARGEST_FILE:
        raise SchemaError("schema.file-too-large", file=str(file), size=file.stat().st_size)
    try:
        return hand_written_schema(file.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise SchemaError("schema.written-not-toml", where=f"'{file}'", why=str(error)) from error
    except SchemaError as error:
        raise error.at(f"'{file}'") from error


def _in_words(made: Schema, width: int) -> str:
    columns = counted(len(made.columns), "column")
    label = f"the label {made.label.name!r} is a number"
    if made.label.kind == "classes":
        label = f"{counted(len(made.label.classes), 'class')} of {made.label.name!r}: {listed(made.label.classes)}"
    return f"{columns} in {counted(width, 'coordinate')}, clipped at {made.clip:.3g}; {label}."


schema = group(
    "The public schema of private cards: what everybody knows of the columns beforehand.",
    "fedbary schema make public.parquet --label diagnosis -o schema.json",
)
register(schema, make)
