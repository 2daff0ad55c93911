"""A finished experiment is read as it was written, and says where it comes from."""

import re

import numpy as np
import pandas as pd
import pytest

import fedbary
from fedbary_lab.experiments import drawn, find, origin, stored
from fedbary_lab.experiments.stored import Provenance
from fedbary_lab.plots import curves

FROM = Provenance("fedbary reproduce x", 2, 1, 90.0, 2, "0123abc", {"python": "3.12.1"})


def test_texts_that_look_like_numbers_stay_texts_and_everything_else_keeps_its_type(tmp_path):
    table = pd.DataFrame(
        {
            "alpha": ["0.1", "1", "∞"],
            "error": ["", "it, broke\n\"here\"", ""],
            "said": ["NA", None, "null"],
            "rows": [300, 1000, 2000],
            "auroc": [1 / 3, np.nan, np.inf],
            "missed": [True, False, True],
            "support": [10, "m", np.nan],
            "maybe": [True, np.nan, False],
            "nothing": [np.nan, np.nan, np.nan],
        }
    )  # fmt: skip
    stored.write(tmp_path, table, FROM)
    again, provenance = stored.read(tmp_path)
    assert provenance == FROM
    assert provenance.minutes == 1.5
    for name in table:
        before, after = table[name].tolist(), again[name].tolist()
        for was, value in zip(before, after, strict=True):
            assert pd.isna(value) if pd.isna(was) else (value, type(value)) == (was, type(was)), (name, before, after)


def test_a_text_that_would_be_read_as_missing_is_refused(tmp_path):
    with pytest.raises(ValueError, match="NaN"):
        stored.write(tmp_path, pd.DataFrame({"method": ["NaN"]}), FROM)


def test_a_part_of_an_experiment_is_not_complete(tmp_path):
    find("accuracy").run(tmp_path, smoke=True, only="triangle, S = 10")
    _, provenance = stored.read(tmp_path / "accuracy-smoke")
    assert provenance.command == "fedbary reproduce accuracy --smoke --only 'triangle, S = 10'"
    assert (provenance.cells, provenance.seeds, provenance.complete) == (1, 1, False)


def test_the_code_is_a_commit_or_a_version(monkeypatch):
    assert re.fullmatch(r"[0-9a-f]{12}(-dirty)?|fedbary .*", origin.commit())
    monkeypatch.setenv("PATH", "")
    assert origin.commit() == f"fedbary {fedbary.__version__}"
    assert {"python", "numpy", "scipy", "POT", "scikit-learn", "pandas"} <= set(origin.versions())


def test_pictures_are_files_where_a_browser_is_there_and_a_page_anywhere(tmp_path, chromium, monkeypatch):
    table = pd.DataFrame({"x": ["1", "2"], "y": [0.1, 0.2], "by": ["a", "a"]})
    pictures = [curves(table, x="x", y="y", by="by"), curves(table[:0], x="x", y="y", by="by", name="empty")]
    monkeypatch.setenv("BROWSER_PATH", str(tmp_path / "none"))
    drawn.draw(tmp_path, pictures, images=True)
    assert {file.name for file in tmp_path.iterdir()} == {"pictures.html"}
    monkeypatch.setenv("BROWSER_PATH", chromium)
    drawn.draw(tmp_path, [pictures[0], pictures[0]], images=True)
    assert {file.name for file in tmp_path.iterdir()} == {"pictures.html", "curves.svg", "curves-2.svg"}
