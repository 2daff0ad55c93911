"""The report's facts, that names stay names, and that a browser shows it offline."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser

import fedbary as fb
from fedbary.errors import DataError
from fedbary.report import write_report
from fedbary.report.facts import facts, headline

pytest_plugins = ["report_fixtures"]

HOSTILE = ["<b>", "</script><script>alert(1)</script>", "[/oops]", "\u202eمستشفى", "👩‍🔬", "x" * 300, "{{ 7 * 7 }}"]


def html(result: fb.Valuation, folder: Path) -> str:
    return write_report(result, folder / "report.html").read_text(encoding="utf-8")


def said(valued: list[str], failed: dict[str, str]) -> str:
    return "".join(text for text, _ in headline(valued, failed))


def test_the_headline_counts_and_names_the_clients():
    assert said(["a", "b", "c"], {}) == "All 3 clients were valued. The best data is at a, the least valuable at c."
    assert said(["a"], {}) == "The one client was valued."
    assert said([], {"a": "x", "b": "y"}) == "No client was valued."
    assert said(["a", "b"], {"c": "x", "d": "y"}).endswith("2 could not be valued.")


def test_the_ranked_table_has_every_number(made_up, tmp_path):
    text = html(made_up(["near", "far"], {"gone": "no rows"}), tmp_path)
    rows = re.findall(r'<tr class="(ok|failed)">(.*?)</tr>', text, re.DOTALL)
    cells = [re.sub(r"<[^>]+>", "|", row).replace("\n", "") for _, row in rows]
    assert [kind for kind, _ in rows] == ["ok", "ok", "failed"]
    assert [word in cells[0] for word in ("near", "40", "0.500 – 1", "66.7 %", "ok")] == [True] * 5
    assert "failed: no rows" in cells[2]


def test_least_valuable_rows_come_worst_first_and_show_only_columns_with_content(made_up, tmp_path):
    result = made_up(["only"])
    (part,) = facts(result)["rows"]
    assert [row[0] for row in part["rows"]] == [f"row-{i}" for i in range(10)]
    assert part["columns"] == ["Row", "Value"]
    flagged = result.rows("only").assign(flag=True, suggested_label="7").astype({"flag": "boolean"})
    (part,) = facts(result.with_rows({"only": flagged}))["rows"]
    assert part["columns"] == ["Row", "Value", "Flagged", "Suggested label"]
    assert part["rows"][0] == ["row-0", "0", "yes", "7"]


def test_without_row_values_there_is_no_row_section(made_up, tmp_path):
    assert "Least valuable rows" not in html(made_up(["a", "b"], rows=False), tmp_path)


def test_only_the_lowest_of_many_clients_show_rows(made_up):
    parts = facts(made_up([f"c{i}" for i in range(41)]))["rows"]
    assert [part["name"] for part in parts] == [f"c{i}" for i in range(40, 20, -1)]


def test_convergence_settings_versions_and_notes_are_told(made_up, tmp_path):
    told = facts(made_up(["a"]))
    assert told["convergence"] == [
        {"name": "a", "first": "11", "last": "4.33", "best": "4.33", "rounds": "2", "support": "8"}
    ]
    assert told["settings"]["space.metric"] == "euclidean"
    assert "column &#39;x&#39; is constant" in html(made_up(["a"]), tmp_path)


@pytest.mark.parametrize("exposing", [{"allow_reconstruction": True}, {"interpolation": "exact"}])
def test_settings_that_expose_rows_are_called_so(made_up, tmp_path, exposing):
    careful, exposed = html(made_up(["a"]), tmp_path), html(made_up(["a"], **exposing), tmp_path)
    assert "can reconstruct rows" not in careful
    assert "at least 5 different rows" in careful
    assert "not differentially private" in careful
    assert "can reconstruct rows" in exposed
    assert "at least 5 different rows" not in exposed


def test_what_a_reference_or_its_absence_changes_is_told(made_up, tmp_path):
    assert "means and variances" in html(made_up(["a"], reference_rows=None), tmp_path)
    assert "The reference itself" in html(made_up(["a"], gradient="access"), tmp_path)


def test_a_result_without_any_valued_client_still_has_a_report(made_up, tmp_path):
    text = html(made_up([], {"a": "no rows", "b": "no rows"}), tmp_path)
    assert "No client was valued." in text
    assert "failed: no rows" in text


def test_hostile_names_are_text(made_up, tmp_path):
    text = html(made_up(HOSTILE, {"<img src=x>": "<script>"}), tmp_path)
    assert "<script" not in text
    assert "<img" not in text
    assert "&lt;b&gt;" in text
    assert "{{ 7 * 7 }}" in text


def test_text_that_utf8_cannot_hold_does_not_stop_the_report(made_up, tmp_path):
    assert "latin&#56575;" in html(replace(made_up(["a"]), notes=("latin\udcff",)), tmp_path)


def test_a_missing_folder_is_named_and_nothing_half_written_stays(made_up, tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        write_report(made_up(["a"]), tmp_path / "nowhere" / "report.html")
    write_report(made_up(["a"]), tmp_path / "report.html")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize("width", [390, 1100])
def test_a_browser_shows_it_offline_without_overflow(made_up, browser: Browser, tmp_path, width):
    names = [*HOSTILE, *(f"client_{i}" for i in range(20))]
    path = write_report(made_up(names, {"gone": "a reason " * 30}), tmp_path / "report.html")
    page = browser.new_page(viewport={"width": width, "height": 800}, offline=True)
    requests, problems = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(path.as_uri())
    assert requests == [path.as_uri()]
    assert problems == []
    assert page.locator("svg.chart g.bar").count() == len(names) + 1
    assert page.locator("svg.chart .fill").count() == len(names)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("h1").inner_text().startswith("27 of 28 clients were valued. The best data is at <b>")
    page.close()
