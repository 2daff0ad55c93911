"""The files that docs/inputs.md reads: penguins in every format, spoilt as real files are, and pictures and texts."""

import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
LABEL, SEASON = "Species", "studyName"


def penguins() -> pd.DataFrame:
    """The table as it was published."""
    return pd.read_csv(ROOT / "examples" / "penguins" / "penguins.csv")


def write_inputs(folder: Path) -> None:
    """Put everything that the page names into a folder."""
    table = penguins()
    table.to_csv(folder / "all.csv", index=False)
    seasons = {str(name): part.drop(columns=SEASON) for name, part in table.groupby(SEASON)}
    sites = _made(folder / "sites")
    for name, part in seasons.items():
        part.to_csv(sites / f"{name}.csv", index=False)
        part.to_csv(_made(folder / "tabs") / f"{name}.tsv", index=False, sep="\t")
        part.to_csv(_made(folder / "zipped") / f"{name}.csv.gz", index=False)
        part.to_csv(_made(folder / "german") / f"{name}.csv", index=False, sep=";", decimal=",", encoding="cp1252")
        part.to_parquet(_made(folder / "parquet") / f"{name}.parquet", index=False)
        part.to_feather(_made(folder / "feather") / f"{name}.feather")
        part.to_json(_made(folder / "json") / f"{name}.jsonl", orient="records", lines=True)
        with pd.ExcelWriter(_made(folder / "excel") / f"{name}.xlsx") as book:
            pd.DataFrame({"notes": ["see the other sheet"]}).to_excel(book, sheet_name="read me", index=False)
            part.to_excel(book, sheet_name="birds", index=False)
    zipped = folder / "zipped" / "PAL0708.zip"
    seasons["PAL0708"].to_csv(zipped, index=False, compression={"method": "zip", "archive_name": "birds.csv"})
    (folder / "zipped" / "PAL0708.csv.gz").unlink()
    table.to_parquet(folder / "lake", partition_cols=[SEASON], index=False)
    with sqlite3.connect(folder / "station.db") as connection:
        table.to_sql("birds", connection, index=False)
    _write_pictures(folder / "pictures")
    _write_reviews(folder / "reviews")


def _write_pictures(folder: Path) -> None:
    """Scikit-learn's digits as small pictures, in a folder for each site and class."""
    from PIL import Image
    from sklearn.datasets import load_digits

    digits = load_digits()
    for place in range(360):
        grey = (digits.images[place] * 15.9).astype(np.uint8)
        home = _made(folder / ("north", "south", "west")[place % 3] / str(digits.target[place]))
        Image.fromarray(grey).save(home / f"{place:04}.png")


def _write_reviews(folder: Path) -> None:
    """Short texts whose words say which label is right."""
    draw = np.random.default_rng(0)
    said = {
        "good": "warm clean quiet friendly bright fresh kind quick",
        "bad": "cold dirty loud rude dark stale slow broken",
    }
    common = ["the", "room", "was", "and", "staff", "were", "breakfast", "bed", "with", "very", "a", "bit", "of"]
    for name in ("north", "south", "west"):
        rows = []
        for _ in range(120):
            label = str(draw.choice(list(said)))
            words = [*draw.choice(said[label].split(), 5), *draw.choice(common, 7)]
            draw.shuffle(words)
            rows.append({"review": " ".join(words), "stars": label})
        pd.DataFrame(rows).to_csv(_made(folder) / f"{name}.csv", index=False)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
