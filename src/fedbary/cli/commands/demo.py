"""`fedbary demo`: five clinics, two of them with spoilt data, in a few seconds."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from fedbary.cli.commands.demo_clinics import ROWS, Clinics, demo_clinics, write_clinics
from fedbary.cli.ui.options import Json, Open, Output

if TYPE_CHECKING:
    from rich.console import Console

    from fedbary.valuation.result import Valuation

_WORST_ROWS = 5
_OWNER = "clinic_d"  # whose report of its rows is written, too
_DAMAGE = {"clinic_d": "wrong labels", "clinic_e": "noisy features"}


def demo(
    output: Output = Path("fedbary-demo"),
    seed: Annotated[int, typer.Option(min=0, help="Who gets which rows, and which are spoilt.")] = 0,
    show: Open = False,
    json: Json = False,
) -> None:
    """Value five clinics that hold 200 handwritten digits each, and look for the rows that were spoilt.

    clinic_a, clinic_b and clinic_c are clean; 30 % of the labels of clinic_d are wrong, and 30 % of the images of
    clinic_e are noisy. The other 797 digits are the reference. Everything runs on this machine, without network.
    """
    from fedbary.cli.ui.browser import open_file
    from fedbary.cli.ui.json import write_json
    from fedbary.cli.ui.progress import progress
    from fedbary.cli.ui.result_folder import owner_report_file
    from fedbary.cli.ui.written_result import for_programs, with_sources, write_outcome
    from fedbary.valuation.storage import check_output

    check_output(output)
    with progress("loading the digits") as listener:
        from fedbary import LocalEngine
        from fedbary import value as run

        clinics = demo_clinics(seed)
        result = run(
            clinics.clients, clinics.reference, seed=seed, engine=LocalEngine(folder=output), progress=listener
        )
        files = write_clinics(clinics, output / "data")
        written = write_outcome(with_sources(result, files, clinics.reference.label_name, None), output)
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
    console.print("How good are the flags?", style="bold")
    console.print(bulleted(_found(result, clinics)))
    console.print("\nWritten", style="bold")
    console.print(file_list({**written, "data": str(output / "data")}))
    console.print("\nWhat to try next", style="bold")
    for line in _next_commands(output):
        console.print(f"  {line}", soft_wrap=True)  # a wrapped command could not be copied


def _show_worst_rows(console: Console, result: Valuation, clinics: Clinics) -> None:
    from fedbary.cli.ui.tables import table
    from fedbary.valuation.cleaning import suggestions
    from fedbary.wording import number

    for name, spoilt in clinics.spoilt.items():
        rows = result.rows(name).nsmallest(_WORST_ROWS, "value")
        labels = clinics.clients[name].labels[rows["row"].to_numpy()]
        truth = ["yes" if spoilt[row] else "no" for row in rows["row"]]
        console.print(f"The least valuable rows of {name}", style="bold")
        console.print(
            table(
                ("row", "labelled", "value", "flagged", "suspicious", "suggested", "spoilt"),
                zip(
                    rows["row"],
                    labels,
                    map(number, rows["value"]),
                    ["yes" if flag else "no" for flag in rows["flag"]],
                    rows["reason"],
                    suggestions(rows).fillna("–"),
                    truth,
                    strict=True,
                ),
                numeric=("row", "labelled", "value"),
            ),
            "",
            sep="\n",
        )


def _next_commands(output: Path) -> list[str]:
    from fedbary.cli.ui.session import program

    data, fedbary = output / "data", program()
    clinics = quote(str(data / "clinic_*.parquet"))
    return [
        f"{fedbary} report {quote(str(output))} --client clinic_e --open",
        f"{fedbary} rows {quote(str(output))} --client clinic_d --export clean",
        f"{fedbary} check {quote(str(data / 'clinic_d.parquet'))} \\",
        f"    --schema {quote(str(output / 'schema.json'))}",
        f"{fedbary} value --label label \\",
        f"    --reference {quote(str(data / 'reference.parquet'))} \\",
        f"    {clinics}",
        f"{fedbary} value --label label \\",
        f"    {clinics}",
    ]


def _found(result: Valuation, clinics: Clinics) -> list[str]:
    """What is true of the flags, since the demo knows which rows it spoilt."""
    sentences = []
    for name, spoilt in clinics.spoilt.items():
        rows = result.rows(name)
        flagged = rows["flag"].to_numpy(dtype=bool)
        sentence = (
            f"{name}: {flagged.sum()} rows are flagged, {(flagged & spoilt).sum()} of them rightly; "
            f"{spoilt.sum()} have {_DAMAGE[name]}."
        )
        if name == "clinic_d":
            mended = rows["suggested_label"].to_numpy() == clinics.right_labels.astype(str)
            sentence += f" The suggested label is right for {(mended & flagged & spoilt).sum()} of them."
        sentences.append(sentence)
    clean = [name for name in clinics.clients if name not in clinics.spoilt]
    wrongly = sum(int(result.rows(name)["flag"].sum()) for name in clean)
    return [*sentences, f"The three clean clinics have {wrongly} flagged rows in {ROWS * len(clean)}."]
