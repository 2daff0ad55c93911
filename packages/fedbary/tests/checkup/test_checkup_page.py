"""A checkup as a page: whole, offline, accessible, and names stay names."""

import re

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from codes import coded
from fedbary.checkup.result import checkup_html
from fedbary.errors import DataError

HOSTILE = ["<b>", "</script><script>alert(1)</script>", "{{ 7 * 7 }}", "=1+1", "x" * 300, "\u202eمستشفى"]


@pytest.fixture(scope="module")
def found() -> fb.Checkup:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"c{place}": np.round(rng.normal(50, 9, 300), 2) for place in range(12)})
    frame.loc[:9, "c3"] = -999.0
    frame.loc[20:30, "c4"] = np.nan
    frame["ward"], frame["city"] = 7, rng.choice(["Bern", "Oslo", "oslo"], 300)
    frame["note"] = [f"patient {row}" if row % 2 else row for row in range(300)]
    frame["ill"] = rng.choice(["yes", "no"], 300)
    return fb.check(frame, "ill")


def test_it_says_everything_and_is_for_the_owner_alone(found, tmp_path):
    path = found.report(tmp_path / "check.html")
    text = path.read_text(encoding="utf-8")
    assert path.stat().st_mode & 0o777 == 0o600
    for finding in found.findings:
        assert finding.text().partition(":")[0].replace("'", "&#39;") in text
    assert "do not send it to the coordinator" in text
    assert "<bdi>always 7</bdi>" in text
    assert text.startswith("<!doctype html>")
    assert len(text) < 100_000


def test_with_a_schema_it_says_what_would_be_told():
    table = fb.datasets.load("breast-cancer").train
    found = fb.check(table, schema=fb.fit_schema(table))
    assert "What the coordinator would be told" in checkup_html(found)


def test_a_file_that_is_no_report_is_not_overwritten(found, tmp_path):
    (tmp_path / "mine.html").write_text("my own page")
    with pytest.raises(DataError, check=coded("views.not-a-report")):
        found.report(tmp_path / "mine.html")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(found, opened, serious, tmp_path, scheme):
    page = opened(found.report(tmp_path / "check.html"), color_scheme=scheme)
    assert serious(page) == []


def test_columns_can_be_searched_and_sorted(found, opened, tmp_path):
    page = opened(found.report(tmp_path / "check.html"))
    page.get_by_role("button", name="Findings").click()
    page.get_by_role("button", name="Findings").click()
    first = page.locator("#of-columns tbody tr").first.inner_text()
    assert re.search(r"c3|city|ward", first)
    page.get_by_label("Find a column").fill("ward")
    assert page.locator("#of-columns tbody tr:visible").count() == 1


def test_a_phone_shows_it_without_scrolling_sideways(found, opened, tmp_path):
    page = opened(found.report(tmp_path / "check.html"), viewport={"width": 375, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= 375


@pytest.mark.parametrize("name", HOSTILE)
def test_names_and_cells_stay_text(opened, tmp_path, name):
    frame = pd.DataFrame({name: ["a", "b"] * 20, "city": [name, name.upper()] * 20, "ill": [name, "no"] * 20})
    page = opened(fb.check(frame, "ill").report(tmp_path / "check.html"))
    assert page.locator("script:not([type])").count() == 2
    assert page.locator("main b").count() == 0
