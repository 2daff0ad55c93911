"""A finding on a clean table is a bug: real tables and clean columns of every shape have none."""

from math import e
from pathlib import Path

import numpy as np
import pytest
from sklearn import datasets

import fedbary as fb
from fedbary.checkup.findings import Severity
from fedbary.checkup.numbers import outliers

EXAMPLES = Path(__file__).resolve().parents[4] / "examples"
BUNDLED = ["iris", "wine", "breast_cancer", "diabetes", "digits"]


@pytest.mark.parametrize("name", BUNDLED)
def test_scikit_learn_s_tables_have_nothing_doubtful(name):
    frame = getattr(datasets, f"load_{name}")(as_frame=True).frame
    found = fb.check(frame, "target")
    assert [str(finding) for finding in found.findings if finding.severity is not Severity.NOTE] == []
    assert {finding.code for finding in found.findings} <= {"checkup.constant"}


@pytest.mark.parametrize("name", BUNDLED)
def test_nor_has_one_half_held_against_the_other(name):
    frame = getattr(datasets, f"load_{name}")(as_frame=True).frame
    half = np.random.default_rng(0).random(len(frame)) < 0.5
    found = fb.check(frame[half], "target", reference=frame[~half])
    assert [str(finding) for finding in found.findings if finding.severity is not Severity.NOTE] == []


@pytest.mark.parametrize(
    ("name", "label"),
    [
        *(("tips", "sex"), ("gapminder", "continent"), ("election", "winner"), ("wind", "direction")),
        *(("carshare", "peak_hour"), ("experiment", "group")),
    ],
)
def test_nor_have_plotly_s_tables(name, label):
    frame = getattr(pytest.importorskip("plotly.express").data, name)()
    found = fb.check(frame, label)
    assert [str(finding) for finding in found.findings if finding.severity is not Severity.NOTE] == []


def test_penguins_are_clean_and_one_hospital_is_not():
    birds = fb.ReadOptions(person="Individual ID")  # some were met twice, which is said unless it is known
    assert not fb.check(EXAMPLES / "penguins" / "penguins.csv", "Species", options=birds).of(Severity.DOUBTFUL)
    doubted = {}
    for name in ("north", "south", "west"):
        path, reference = (EXAMPLES / "hospitals" / f"{one}.parquet" for one in (f"hospital_{name}", "validation"))
        doubted[name] = [one.column for one in fb.check(path, "diagnosis", id="patient", reference=reference).findings]
    assert doubted == {"north": [], "south": [], "west": ["mean radius"]}  # diameters there; wrong labels in the south


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, rows: rng.normal(size=rows),
        lambda rng, rows: rng.exponential(size=rows),
        lambda rng, rows: rng.lognormal(8, 2, rows),
        lambda rng, rows: rng.pareto(2, rows),
        lambda rng, rows: rng.poisson(2, rows).astype(float),
        lambda rng, rows: np.where(rng.random(rows) < 0.9, 0.0, rng.lognormal(8, 1, rows)),
        lambda rng, rows: np.where(rng.random(rows) < 0.04, rng.normal(20, 3, rows), rng.normal(0, 1, rows)),
    ],
    ids=["normal", "exponential", "lognormal", "pareto", "poisson", "mostly zero", "two groups"],
)
def test_clean_numbers_are_no_outliers(draw):
    rng = np.random.default_rng(0)
    columns = [np.sort(draw(rng, rows)) for rows in (60, 200, 1000) for _ in range(200)]
    assert sum(sum(outliers(column)) > 0 for column in columns) <= 600 / e**4


def test_rows_of_few_categories_repeat_each_other_by_chance():
    rng = np.random.default_rng(0)
    columns = {name: rng.choice(list("abc"), 500) for name in ("sex", "town", "job")}
    found = fb.check(fb.Table(columns, rng.choice(["yes", "no"], 500)))
    assert found.copies > 100
    assert found.findings == ()
