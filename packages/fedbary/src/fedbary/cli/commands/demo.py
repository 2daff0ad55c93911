"""`fedbary demo`: five clinics, three of them with something wrong, in a few seconds."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from fedbary.cli.commands.demo_clinics import (
    CLEAN,
    LABEL,
    MISSING,
    OTHER_UNIT,
    ROW_ID,
    WRONG_LABELS,
    Clinics,
    demo_clinics,
    write_clinics,
)
from fedbary.cli.ui.options import Json, Open, Output

if TYPE_CHECKING:
    from rich.console import Console

    from fedbary.valuation.result import Valuation

_WORST_ROWS = 4
_OWNER = WRONG_LABELS  # whose report of its rows is written, too
_FAULTS = {WRONG_LABELS: "a wrong diagnosis", OTHER_UNIT: "their glucose in another unit"}


def demo(
    output: Output = Path("fedbary-demo"),
    seed: Annotated[int, typer.Option(min=0, help="Which patients there are, and which rows are spoilt.")] = 0,
    show: Open = False,
    json: Json = False,
) -> None:
    """Value five clinics with 400 made-up patients each, and look for what is wrong with three of them.

    clinic_a and clinic_b are clean. In clinic_c a quarter of the glucose values are in another unit, in clinic_d a
    quarter of the diagnoses are wrong, and in clinic_e 40 % of the laboratory's values are missing. 1200 more patients,
    whose diagnoses are known to be right, are the reference. Everything runs on this machine, without network.
    """
    from fedbary.cli.ui.browser import open_file
    from fedbary.cli.ui.json import write_json
    from fedbary.cli.ui.progress import progress
    from fedbary.cli.ui.result_folder import owner_report_file
    from fedbary.cli.ui.written_result import for_programs, with_sources, write_outcome
    from fedbary.data.options import ReadOptions
    from fedbary.valuation.storage import check_output

    check_output(output)
    with progress("making up patients") as listener:
        from fedbary import LocalEngine
        from fedbary import value as run

        clinics = demo_clinics(seed)
        result = run(
            clinics.clients, clinics.reference, seed=seed, engine=LocalEngine(folder=output), progress=listener
        )
        files = write_clinics(clinics, output / "data")
        result = with_sources(result, files, LABEL, ROW_ID, ReadOptions())
        written = write_outcome(result, output)
        mine = result.report(owner_report_file(result, output, _OWNER), client=_OWNER, table=clinics.clients[_OWNER])
        written["owner_report"] = str(mine)
    if json:
        spoilt = {name: int(rows.sum()) for name, rows in clinics.spoilt.items()}
        write_json({**for_programs(result, {**written, "data": str(output / "data")}), "spoilt_rows": spoilt})
    else:
        _show(result, clinics, written, output)
    if show:
        open_file(output / "report.html")


def _show(result: Valuation, clinics: Clinics, written: dict[str, str], output: Path) -> None:
    from fedbary.cli.ui.tables import bulleted, file_list, screen, show_result

    console = screen()
    show_result(console, result)
    console.print()
    _show_worst_rows(console, result, clinics)
    console.print("Is that right?", style="bold")
    console.print(bulleted(_found(result, clinics)))
    console.print("\nWritten", style="bold")
    console.print(file_list({**written, "data": str(output / "data")}))
    console.print("\nWhat to try next", style="bold")
    for line in _next_commands(output):
        console.print(f"  {line}", soft_wrap=True)  # a wrapped command could not be copied


def _show_worst_rows(console: Console, result: Valuation, clinics: Clinics) -> None:
    """What only the owners would see: their rows never leave them."""
    from fedbary.cli.commands.rows import worst_rows

    for name in clinics.spoilt:
        console.print(f"What {name} would see at home: its worst rows", style="bold")
        rows = result.rows(name).assign(labelled=clinics.clients[name].labels)
        console.print(worst_rows(rows, _WORST_ROWS), "", sep="\n")


def _next_commands(output: Path) -> list[str]:
    from fedbary.cli.ui.session import program

    data, fedbary = output / "data", program()
    columns = f"--label {LABEL} --id {ROW_ID}"
    clinics = quote(str(data / "clinic_*.parquet"))
    return [
        f"{fedbary} report {quote(str(output))} --client {OTHER_UNIT} --open",
        f"{fedbary} rows {quote(str(output))} --client {WRONG_LABELS} \\",
        "    --export clean --suspects",
        f"{fedbary} check {quote(str(data / f'{MISSING}.parquet'))} \\",
        f"    --schema {quote(str(output / 'schema.json'))}",
        f"{fedbary} value {columns} \\",
        f"    --reference {quote(str(data / 'reference.parquet'))} \\",
        f"    {clinics}",
        f"{fedbary} value {columns} \\",
        f"    {clinics}",
    ]


def _found(result: Valuation, clinics: Clinics) -> list[str]:
    """What is true of flags and suspects, since the demo knows which rows it spoilt."""
    sentences = []
    for name, spoilt in clinics.spoilt.items():
        rows = result.rows(name)
        flagged = rows["flag"].fillna(False).to_numpy(dtype=bool)
        suspected = rows["suspect"].fillna(False).to_numpy(dtype=bool)
        sentence = f"{name}: {spoilt.sum()} rows have {_FAULTS[name]}. {(flagged & spoilt).sum()} of them are flagged"
        sentence += f" and {(suspected & spoilt).sum()} suspected" if suspected.any() else ""
        sentence += f"; {((flagged | suspected) & ~spoilt).sum()} other rows are, too."
        if name == WRONG_LABELS:
            mended = rows["suggested_label"].to_numpy() == clinics.right_labels.astype(str)
            sentence += f" The suggested diagnosis is right for {(mended & flagged & spoilt).sum()} of those flagged."
        sentences.append(sentence)
    blank = clinics.clients[MISSING]
    missing = sum(blank.missing().values()) / (len(blank) * len(blank.column_names))
    sentences.append(f"{MISSING}: {100 * missing:.0f} % of its cells are missing.")
    rows_of_clean = [result.rows(name) for name in CLEAN]
    wrongly = sum(int(rows["flag"].sum()) for rows in rows_of_clean)
    total = sum(map(len, rows_of_clean))
    return [*sentences, f"{' and '.join(CLEAN)} are clean: {wrongly} of their {total} rows are flagged."]
