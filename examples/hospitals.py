"""Write the tables of the tutorial: three hospitals, a validation set and a test set.

All rows are from the breast-cancer data of scikit-learn (569 tumours, 30 measurements, malignant or benign); no row is
in two tables. What is wrong with them was put in here, and ``truth.csv`` lists it row by row:

- hospital_north: nothing is wrong.
- hospital_south: every third patient has the wrong diagnosis.
- hospital_west: for two patients in five the three radius columns hold diameters, twice the number; and half of its
  patients have a benign tumour, where elsewhere about 63 % do.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

SEED = 0
RADIUS = ["mean radius", "radius error", "worst radius"]
# Rows, and how many of them are benign. What is left over becomes validation and test rows.
HOSPITALS = {"north": (60, 38), "south": (60, 38), "west": (50, 25)}
TEST_ROWS = 40


def tables(seed: int = SEED) -> tuple[dict[str, pd.DataFrame], pd.DataFrame]:
    """Make all tables by name, and the list of what was spoilt in them."""
    rng = np.random.default_rng(seed)
    pool = _patients().sample(frac=1, random_state=rng).reset_index(drop=True)
    made, truth = {}, []
    for name, (rows, benign) in HOSPITALS.items():
        chosen = [
            *pool.index[pool["diagnosis"] == "benign"][:benign],
            *pool.index[pool["diagnosis"] == "malignant"][: rows - benign],
        ]
        made[f"hospital_{name}"] = _with_ids(pool.loc[np.sort(chosen)], name[0].upper())
        pool = pool.drop(index=chosen)
    made["test"] = _with_ids(pool[:TEST_ROWS], "T")
    made["validation"] = _with_ids(pool[TEST_ROWS:], "V")

    south, west = made["hospital_south"], made["hospital_west"]
    wrong = np.sort(rng.permutation(len(south))[: len(south) // 3])
    truth += [("hospital_south", patient, "wrong diagnosis") for patient in south["patient"].iloc[wrong]]
    other = {"benign": "malignant", "malignant": "benign"}
    south.loc[wrong, "diagnosis"] = south["diagnosis"].iloc[wrong].map(other)

    doubled = np.sort(rng.permutation(len(west))[: 2 * len(west) // 5])
    truth += [("hospital_west", patient, "diameters for radii") for patient in west["patient"].iloc[doubled]]
    west.loc[doubled, RADIUS] *= 2
    return made, pd.DataFrame(truth, columns=["hospital", "patient", "trouble"])


def write(folder: Path) -> None:
    """Write every table as Parquet, hospital_south also as CSV, and the truth."""
    folder.mkdir(parents=True, exist_ok=True)
    made, truth = tables()
    for name, table in made.items():
        table.to_parquet(folder / f"{name}.parquet", index=False)
    made["hospital_south"].to_csv(folder / "hospital_south.csv", index=False, lineterminator="\n")
    truth.to_csv(folder / "truth.csv", index=False, lineterminator="\n")


def try_seeds(count: int) -> bool:
    """Say how the story goes with other seeds; whether north alone is included in all, and bad rows found in all."""
    import fedbary as fb

    right = True
    for seed in range(count):
        made, truth = tables(seed)
        named = {name: fb.Table.from_frame(made[name], "diagnosis", id="patient") for name in sorted(made)}
        reference = named.pop("validation")
        del named["test"]
        result = fb.value(named, reference, seed=seed)
        advice = {opinion.client: str(opinion.advice) for opinion in result.verdict()}
        right &= [name for name, said in advice.items() if said == "include"] == ["hospital_north"]
        print(f"seed {seed}")
        for name in named:
            rows = result.rows(name)
            bad = rows["row"].isin(truth["patient"])
            found = f"flagged {_counts(rows['flag'], bad)}, suspects {_counts(rows['suspect'], bad)}"
            print(f"  {name:15} {advice[name]:14} {found}, spoilt {bad.sum()}")
            right &= name == "hospital_north" or bool((rows["flag"] | rows["suspect"]).any())
    return right


def _counts(marked: pd.Series, bad: pd.Series) -> str:
    return f"{int(marked.sum())} ({int((marked & bad).sum())} rightly)"


def _patients() -> pd.DataFrame:
    data = load_breast_cancer(as_frame=True)
    return data.data.assign(diagnosis=np.array(["malignant", "benign"])[data.target])


def _with_ids(table: pd.DataFrame, letter: str) -> pd.DataFrame:
    table = table.reset_index(drop=True)
    table.insert(0, "patient", [f"{letter}{number:03d}" for number in range(1, len(table) + 1)])
    return table


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("examples/hospitals"), help="folder to write to")
    parser.add_argument("--try-seeds", type=int, metavar="N", help="write nothing; value what N other seeds make")
    given = parser.parse_args()
    if given.try_seeds:
        raise SystemExit(0 if try_seeds(given.try_seeds) else "the verdict or the rows are wrong for a seed")
    output = given.output
    write(output)
    for file in sorted(output.iterdir()):
        print(f"{file.name:24} {file.stat().st_size / 1000:6.1f} kB")
