"""Real tables divided by a column of their own, nothing planted: groups that differ, and of which none is bad.

All of them come with installed packages; the files of a package that is not installed are left out, and a line says so.
Groups of fewer than 20 rows are left out, too. The column that divides a table is no feature of it.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.resources import files
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from fedbary.data.table import Table

if TYPE_CHECKING:
    import pandas as pd

LEAST_ROWS = 20
THIRDS = 3


@dataclass(frozen=True)
class Natural:
    """A table, its label, and the column that divides it: at its values, or at quantiles into so many parts.

    ``drop`` names columns that are no features: names, and what says the same as the label or the dividing column.
    """

    name: str
    package: str
    read: Callable[[], pd.DataFrame]
    label: str
    by: str
    parts: int = 0
    drop: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}, {self.label} by {self.by}"

    def groups(self) -> Mapping[str, Table]:
        """The groups by name, read together, so that a column is of one kind in all of them."""
        import pandas as pd

        frame = self.read()
        frame = frame[frame[self.by].notna() & frame[self.label].notna()].reset_index(drop=True)
        by = pd.qcut(frame[self.by], self.parts, labels=False) if self.parts else frame[self.by]
        unused = {self.by, *self.drop} - {self.label}
        table = Table.from_frame(frame.drop(columns=[*unused]), label=self.label, origin=str(self))
        rows = {str(name): np.flatnonzero(by == name) for name in sorted(by.unique())}
        return {
            f"{self.by} {name}": table.take(mine).replace(origin=name)
            for name, mine in rows.items()
            if len(mine) >= LEAST_ROWS
        }


def find(name: str) -> Natural:
    """The table and division of this name."""
    return next(natural for natural in NATURAL if str(natural) == name)


def installed() -> list[Natural]:
    """Those whose package is installed; a line on stderr says which are not."""
    return [natural for natural in NATURAL if _is_installed(natural.package)]


@lru_cache
def _is_installed(package: str) -> bool:
    there = find_spec(package) is not None
    if not there:
        left_out = ", ".join(dict.fromkeys(natural.name for natural in NATURAL if natural.package == package))
        print(f"without {left_out}: {package} is not installed", file=sys.stderr)
    return there


def _sklearn(name: str) -> pd.DataFrame:
    """A table of scikit-learn; classes by their names."""
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")(as_frame=True, **({"scaled": False} if name == "diabetes" else {}))
    frame: pd.DataFrame = bunch.frame
    return (
        frame if name == "diabetes" else frame.assign(target=np.asarray(bunch.target_names)[bunch.target].astype(str))
    )


def _digits() -> pd.DataFrame:
    """Digits in the order of their writers, ten blocks of them."""
    frame = _sklearn("digits")
    return frame.assign(writers=np.arange(len(frame)) * 10 // len(frame))


def _packaged(package: str, *path: str) -> pd.DataFrame:
    """A table that lies in a package, as CSV, compressed or not, or as a JSON list."""
    import pandas as pd

    content = files(package).joinpath(*path)
    if path[-1].endswith(".json"):
        return pd.DataFrame(json.loads(content.read_text(encoding="utf-8")))
    with content.open("rb") as file:
        return pd.read_csv(gzip.open(file) if path[-1].endswith(".gz") else file)


def _cars() -> pd.DataFrame:
    """Cars of 4, 6 and 8 cylinders."""
    frame = _packaged("vega_datasets", "_data", "cars.json")
    frame = frame[frame["Cylinders"].isin([4, 6, 8])]
    return frame.assign(Cylinders=frame["Cylinders"].astype(str), Year=frame["Year"].str[:4].astype(int))


def _weather() -> pd.DataFrame:
    """Days in Seattle, with their year and season."""
    frame = _packaged("vega_datasets", "_data", "seattle-weather.csv")
    year, month = (frame["date"].str[part].astype(int) for part in (slice(4), slice(5, 7)))
    return frame.drop(columns="date").assign(year=year, season=month % 12 // 3)


_plotly = partial(_packaged, "plotly", "package_data", "datasets")
_penguins = partial(_packaged, "palmerpenguins", "data", "penguins.csv")
_PLACES = ("country", "iso_alpha", "iso_num", "centroid_lon", "centroid_lat")
_gapminder = partial(_plotly, "gapminder.csv.gz")
_tips = partial(_plotly, "tips.csv.gz")
_cancer, _diabetes = partial(_sklearn, "breast_cancer"), partial(_sklearn, "diabetes")

NATURAL = (
    Natural("wine", "sklearn", partial(_sklearn, "wine"), "target", "alcohol", THIRDS),
    Natural("breast cancer", "sklearn", _cancer, "target", "mean radius", THIRDS),
    Natural("breast cancer", "sklearn", _cancer, "target", "mean texture", THIRDS),
    Natural("diabetes", "sklearn", _diabetes, "target", "sex"),
    Natural("diabetes", "sklearn", _diabetes, "target", "age", THIRDS),
    Natural("diabetes", "sklearn", _diabetes, "target", "bmi", THIRDS),
    Natural("iris", "sklearn", partial(_sklearn, "iris"), "target", "sepal length (cm)", THIRDS),
    Natural("digits", "sklearn", _digits, "target", "writers"),
    Natural("tips", "plotly", _tips, "sex", "day"),
    Natural("tips", "plotly", _tips, "tip", "smoker"),
    Natural("gapminder", "plotly", _gapminder, "lifeExp", "continent", drop=_PLACES),
    Natural("gapminder", "plotly", _gapminder, "continent", "year", drop=_PLACES),
    Natural("penguins", "palmerpenguins", _penguins, "species", "year"),
    Natural("penguins", "palmerpenguins", _penguins, "species", "sex"),
    Natural("penguins", "palmerpenguins", _penguins, "sex", "island", drop=("species",)),
    Natural("cars", "vega_datasets", _cars, "Cylinders", "Origin", drop=("Name",)),
    Natural("cars", "vega_datasets", _cars, "Miles_per_Gallon", "Year", THIRDS, drop=("Name",)),
    Natural("Seattle's weather", "vega_datasets", _weather, "weather", "year", drop=("season",)),
    Natural("Seattle's weather", "vega_datasets", _weather, "weather", "season", drop=("year",)),
)
