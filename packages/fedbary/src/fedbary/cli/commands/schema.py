"""`fedbary schema`: the coordinates of private cards, agreed on before anybody looks at a row."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fedbary.cli.ui.command_kinds import Command, Group, example_of
from fedbary.cli.ui.json import write_json
from fedbary.cli.ui.options import OWN_READING, Json, RowId, Seed
from fedbary.cli.ui.settings_options import with_settings
from fedbary.cli.ui.terminal_text import paragraphs
from fedbary.data.options import ReadOptions
from fedbary.errors import SchemaError, SettingsError

if TYPE_CHECKING:
    from fedbary.space.schema import Schema

# A file of thousands of columns; whatever is larger is no description.
_LARGEST_FILE = 16 * 2**20

schema = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    help="The public schema of private cards: what everybody knows of the columns beforehand.",
    epilog=example_of("fedbary schema make public.parquet --label diagnosis -o schema.json"),
)


@with_settings(reading=OWN_READING)
def make(
    file: Annotated[Path, typer.Argument(help="A table of public rows, or a description in TOML.", show_default=False)],
    *,
    label: Annotated[str | None, typer.Option(metavar="COL", help="The label column of the public rows.")] = None,
    row_id: RowId = None,
    coordinates: Annotated[
        int | None,
        typer.Option(min=1, help="Principal directions to keep. Default: all up to 256 coordinates, 64 above."),
    ] = None,
    task: Annotated[Literal["auto", "classification", "regression"], typer.Option(help="What the label is.")] = "auto",
    seed: Seed = 0,
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to write the schema.")] = Path("schema.json"),
    reading: ReadOptions,
    json: Json = False,
) -> None:
    """Make a public schema, in whose coordinates clients make private cards.

    FILE is a table of public rows, such as the coordinator's validation rows, never rows of a client; or a TOML file
    that says of each column its centre and scale, or its levels, and the classes of the label.
    """
    from fedbary.cli.ui.tables import screen
    from fedbary.space.encode import public_width

    if file.suffix.lower() == ".toml":
        typed = {"--label": label, "--id": row_id, "--coordinates": coordinates, "--seed": seed or None}
        for option, value in typed.items():
            if value is not None:
                raise SettingsError("cli.schema-options", typed=option, file=str(file))
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
        "coordinates": public_width(made),
        "label": made.label.name,
        "classes": list(made.label.classes),
        "clip": made.clip,
    }
    if json:
        write_json(facts)
        return
    for note in made.notes:
        screen().print(f"note  {note}", soft_wrap=True)
    screen().print(_in_words(made, public_width(made)), soft_wrap=True)
    screen().print(f"written  {output}", soft_wrap=True)


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
    from fedbary.wording import counted, listed

    columns = counted(len(made.columns), "column")
    label = f"the label {made.label.name!r} is a number"
    if made.label.kind == "classes":
        label = f"{counted(len(made.label.classes), 'class')} of {made.label.name!r}: {listed(made.label.classes)}"
    return f"{columns} in {counted(width, 'coordinate')}, clipped at {made.clip:.3g}; {label}."


schema.command(
    cls=Command,
    help=paragraphs(make.__doc__),
    epilog=example_of("fedbary schema make public.parquet --label diagnosis --coordinates 32 -o schema.json"),
)(make)
