"""`fedbary demo`: five clinics with made-up patients, three of them with something wrong, in a few seconds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from fedbary.cli.commands.rows import worst_rows
from fedbary.cli.ui.command import command
from fedbary.cli.ui.options import OPEN, option, output_folder
from fedbary.cli.ui.results import (
    files_worth_opening,
    owner_report_file,
    valuation_data,
    verdict_parts,
    with_sources,
    write_outcome,
)
from fedbary.cli.ui.session import program
from fedbary.cli.ui.terminal import open_file, progress
from fedbary.data.options import ReadOptions
from fedbary.views.page import HEADING, Items, Line, Page, Part

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from fedbary.data.corruptions import Mask
    from fedbary.data.table import Table
    from fedbary.valuation.result import Valuation

LABEL, ROW_ID = "diagnosis", "patient"
ROWS, REFERENCE_ROWS = 400, 1200
CLEAN, OTHER_UNIT, WRONG_LABELS, MISSING = ("clinic_a", "clinic_b"), "clinic_c", "clinic_d", "clinic_e"
UNIT_COLUMN = "glucose"
_MILLIGRAMS = 18.0  # in a decilitre, for a millimole of glucose in a litre
_IN_OTHER_UNIT, _WITH_WRONG_LABEL, _LABORATORY_MISSING = 0.25, 0.25, 0.4
_WORST_ROWS = 4
_OWNER = WRONG_LABELS  # whose report of its rows is written, too
_FAULTS = {WRONG_LABELS: "a wrong diagnosis", OTHER_UNIT: "their glucose in another unit"}
LABORATORY = ("glucose", "creatinine", "haemoglobin", "crp", "leukocytes")
# Typical patients. Units: kg/m², mmHg, 1/min, °C, %, mmol/l, µmol/l, g/l, mg/l, 10⁹/l.
_COLUMNS = ("age", "bmi", "systolic", "heart_rate", "temperature", "oxygen", *LABORATORY)
_TYPICAL = {
    "diabetes": (57, 31.0, 138, 82, 36.7, 96.5, 16.0, 88, 140, 6, 8.0),
    "heart failure": (75, 27.5, 118, 94, 36.6, 91.5, 6.6, 120, 126, 14, 8.0),
    "kidney disease": (66, 26.0, 156, 79, 36.6, 96.0, 6.2, 400, 100, 12, 7.4),
    "pneumonia": (61, 25.5, 120, 99, 38.7, 90.5, 6.5, 90, 131, 120, 14.5),
}
_SPREAD = (14, 5.0, 18, 14, 0.5, 2.3, 0.26, 0.29, 14, 0.65, 0.26)
# Laboratory values that span an order of magnitude: the spread is that of their logarithm.
_SKEWED = ("glucose", "creatinine", "crp", "leukocytes")
_DECIMALS = {"bmi": 1, "temperature": 1, "glucose": 1, "crp": 1, "leukocytes": 1}
_SMALLEST, _LARGEST = {"age": 18, "bmi": 15}, {"age": 101, "oxygen": 100}
_SMOKERS = 0.25
# So many have a second illness, which shows up to this much beside the first: some patients are hard to tell.
_SECOND_ILLNESS, _MOST_OF_THE_SECOND = 0.8, 0.6
_NOT_MEASURED = 0.01  # of the laboratory's values, in every clinic


@command("fedbary demo -o fedbary-demo")
def demo(
    output: Path = output_folder("fedbary-demo"),
    seed: int = option("Which patients there are, and which rows are spoilt.", min=0, default=0),
    show: bool = OPEN,
) -> Page:
    """Value five clinics with 400 made-up patients each, and look for what is wrong with three of them.

    clinic_a and clinic_b are clean. In clinic_c a quarter of the glucose values are in another unit, in clinic_d a
    quarter of the diagnoses are wrong, and in clinic_e 40 % of the laboratory's values are missing. 1200 more patients,
    whose diagnoses are known to be right, are the reference. Everything runs on this machine, without network.
    """
    from fedbary.data.export import write
    from fedbary.valuation.storage import check_output

    check_output(output)
    data = output / "data"
    with progress("making up patients") as listener:
        from fedbary import LocalEngine
        from fedbary import value as run

        clinics = demo_clinics(seed)
        result = run(
            clinics.clients, clinics.reference, seed=seed, engine=LocalEngine(folder=output), progress=listener
        )
        # The tables as files, so that the other commands can be tried on them.
        data.mkdir(parents=True, exist_ok=True)
        write(clinics.reference, data / "reference.parquet")
        files = {name: write(table, data / f"{name}.parquet") for name, table in clinics.clients.items()}
        result = with_sources(result, files, LABEL, ROW_ID, ReadOptions())
        written = write_outcome(result, output)
        mine = result.report(owner_report_file(result, output, _OWNER), client=_OWNER, table=clinics.clients[_OWNER])
        written |= {"owner_report": str(mine), "data": str(data)}
    if show:
        open_file(output / "report.html")
    spoilt = {name: int(rows.sum()) for name, rows in clinics.spoilt.items()}
    return Page(_parts(result, clinics, written, output), valuation_data(result, written) | {"spoilt_rows": spoilt})


def _parts(result: Valuation, clinics: Clinics, written: dict[str, str], output: Path) -> list[Part]:
    parts = [*verdict_parts(result), ""]
    for name in clinics.spoilt:  # what only the owners would see: their rows never leave them
        rows = result.rows(name).assign(labelled=clinics.clients[name].labels)
        parts += [Line(f"What {name} would see at home: its worst rows", HEADING), worst_rows(rows, _WORST_ROWS), ""]
    parts += [Line("Is that right?", HEADING), Items(_found(result, clinics))]
    parts += ["", Line("Written", HEADING), files_worth_opening(written), "", Line("What to try next", HEADING)]
    return [*parts, *(Line(f"  {line}", whole=True) for line in _next_commands(output))]


def _next_commands(output: Path) -> list[str]:
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


@dataclass(frozen=True)
class Clinics:
    """The demo's parties, which rows were spoilt, and the right labels of the clinic with wrong ones."""

    clients: dict[str, Table]
    reference: Table
    spoilt: dict[str, Mask]
    right_labels: Any


def demo_clinics(seed: int) -> Clinics:
    """Five clinics of 400 patients, three of them with a fault of its own kind, and 1200 patients as the reference."""
    import numpy as np

    from fedbary.data.corruptions import flip_labels
    from fedbary.data.table import Table

    rng = np.random.default_rng(seed)
    names = (*CLEAN, OTHER_UNIT, WRONG_LABELS, MISSING)
    frames = {name: patients(ROWS, name[-1].upper(), rng) for name in names}
    reference = patients(REFERENCE_ROWS, "R", rng)
    # Some of the rows have their glucose in mg/dl, as from a second laboratory; many values of another are lost.
    other, milligrams = np.zeros(ROWS, dtype=bool), frames[OTHER_UNIT]
    other[rng.permutation(ROWS)[: round(_IN_OTHER_UNIT * ROWS)]] = True
    milligrams.loc[other, UNIT_COLUMN] = (milligrams.loc[other, UNIT_COLUMN] * _MILLIGRAMS).round()
    for name in LABORATORY:
        frames[MISSING].loc[rng.random(ROWS) < _LABORATORY_MISSING, name] = np.nan
    spoilt = {OTHER_UNIT: other}
    clients = {name: Table.from_frame(frame, LABEL, id=ROW_ID, origin=name) for name, frame in frames.items()}
    right_labels = clients[WRONG_LABELS].labels
    clients[WRONG_LABELS], spoilt[WRONG_LABELS] = flip_labels(clients[WRONG_LABELS], _WITH_WRONG_LABEL, seed=rng)
    return Clinics(clients, Table.from_frame(reference, LABEL, id=ROW_ID, origin="reference"), spoilt, right_labels)


def patients(rows: int, letter: str, rng: np.random.Generator) -> pd.DataFrame:
    """Patients of one clinic, with ids that begin with its letter."""
    import numpy as np
    import pandas as pd

    illnesses = np.array(list(_TYPICAL))
    first, second = rng.integers(len(illnesses), size=(2, rows))
    mixed = np.where(rng.random(rows) < _SECOND_ILLNESS, rng.uniform(0.0, _MOST_OF_THE_SECOND, rows), 0.0)[:, None]
    profiles = np.array(list(_TYPICAL.values()))
    typical = (1.0 - mixed) * profiles[first] + mixed * profiles[second]
    deviation = rng.standard_normal(typical.shape) * _SPREAD
    skewed = np.isin(_COLUMNS, _SKEWED)
    measured = np.where(skewed, typical * np.exp(np.where(skewed, deviation, 0.0)), typical + deviation)
    frame = pd.DataFrame(
        {
            name: np.clip(np.round(values, _DECIMALS.get(name, 0)), _SMALLEST.get(name), _LARGEST.get(name))
            for name, values in zip(_COLUMNS, measured.T, strict=True)
        }
    )
    for name in LABORATORY:
        frame.loc[rng.random(rows) < _NOT_MEASURED, name] = np.nan
    frame.insert(0, "patient", [f"{letter}{number:03d}" for number in range(1, rows + 1)])
    frame.insert(2, "sex", rng.choice(["female", "male"], size=rows))
    frame.insert(3, "smoker", rng.random(rows) < _SMOKERS)
    return frame.assign(diagnosis=illnesses[first])
