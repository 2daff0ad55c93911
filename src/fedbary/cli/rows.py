"""`fedbary rows`: a client's suspicious rows, and its table without them or with the suggested labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedbary.errors import DataError, SettingsError

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.data.table import Table
    from fedbary.valuation import Valuation

_EXPORTS = ("clean", "relabelled")


def rows(
    folder: Annotated[Path, typer.Argument(help="A result folder of `fedbary value` or `fedbary demo`.")],
    *,
    client: Annotated[str, typer.Option(metavar="NAME", help="Whose rows.", show_default=False)],
    export: Annotated[
        str | None,
        typer.Option(metavar="HOW", help="Write the table clean (without flagged rows) or relabelled."),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The client's file. Default: the one that was valued."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Where to write the exported table.")
    ] = None,
    most: Annotated[int, typer.Option("-n", "--most", min=1, help="Rows to show.")] = 20,
) -> None:
    """Show a client's flagged rows with reasons and suggested labels, and write the table with them dropped or mended.

    FOLDER is a result folder. `--export clean` leaves out every flagged row; `--export relabelled` gives rows
    flagged for their label the suggested one and leaves out those flagged for their features.
    """
    from fedbary.data.export import write
    from fedbary.valuation.result import Valuation

    if export is not None and export not in _EXPORTS:
        raise SettingsError(f"--export must be {' or '.join(_EXPORTS)}, not {export!r}.")
    result = Valuation.load(folder)
    frame = result.rows(client)
    _show(frame, client, most)
    if export is not None:
        table = _exported(result, frame, client, how=export, data=data)
        written = write(table, output or folder / f"{_stem(client)}-{export}.csv")
        typer.echo(f"\nwritten  {written}")


def _show(frame: pd.DataFrame, client: str, most: int) -> None:
    from fedbary.cli.screen import screen, table
    from fedbary.cli.text import number

    console = screen()
    flagged = frame[frame["flag"].fillna(False).astype(bool)]
    what = f"{len(flagged)} of {len(frame)} rows of {client} are flagged"
    shown = (flagged if len(flagged) else frame).nsmallest(most, "value")
    if not len(flagged):
        what += "; its least valuable rows"
    console.print(what, style="bold", markup=False, highlight=False)
    cells = zip(
        shown["row"], map(number, shown["value"]), shown["reason"].fillna("–"), shown["suggested_label"].fillna("–"),
        strict=True,
    )  # fmt: skip
    console.print(table(("row", "value", "suspicious", "suggested label"), cells, numeric=("value",)))
    for key, label in (("guarantee", "guarantee"), ("smallest_q", "smallest q that flags"), ("noise_share", "noise")):
        if key in frame.attrs:
            value = frame.attrs[key]
            text = value if isinstance(value, str) else f"{value:.3f}"
            console.print(f"{label}: {text}", markup=False, highlight=False)


def _exported(result: Valuation, frame: pd.DataFrame, client: str, *, how: str, data: Path | None) -> Table:
    import numpy as np

    from fedbary.data.files import read

    if frame["flag"].isna().any():
        raise SettingsError(f"The rows of '{client}' were not flagged in this run, so there is nothing to leave out.")
    source = data or result.settings.get("sources", {}).get(client)
    if source is None:
        raise SettingsError(f"The result does not know the file of '{client}': name it with --data FILE.")
    table = read(source, result.settings.get("label") or _label(result), id=result.settings.get("id"))
    if not np.array_equal(table.row_names.astype(str), frame["row"].to_numpy().astype(str)):
        raise DataError(f"'{source}' does not hold the rows that were valued: value it again.")
    flag = frame["flag"].to_numpy(dtype=bool)
    if how == "clean":
        return table.take(~flag)
    by_label = flag & (frame["reason"] == "label").to_numpy(dtype=bool)
    labels = table.labels.astype(object)
    labels[by_label] = [_like(table.labels, text) for text in frame["suggested_label"][by_label]]
    mended = table.replace(labels=np.array(labels.tolist()) if table.labels.dtype.kind != "O" else labels)
    return mended.take(~flag | by_label)


def _like(labels: object, text: str) -> object:
    """A suggested label, which is text, in the type that the column has."""
    import numpy as np

    kind = np.asarray(labels).dtype
    return text if kind.kind == "O" else bool(int(text)) if kind.kind == "b" else kind.type(text)


def _label(result: Valuation) -> str:
    return "label" if result.schema is None else result.schema.label.name


def _stem(client: str) -> str:
    from fedbary.valuation.storage import row_file_names

    return row_file_names([client])[client]
