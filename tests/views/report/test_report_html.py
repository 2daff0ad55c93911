"""The coordinator's report: its facts, that names stay names, that it holds no row, and that a browser shows it."""

import csv
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from codes import coded
from fedbary.errors import DataError
from fedbary.notes import Note
from fedbary.valuation.verdict import Advice, Opinion
from fedbary.views.report import write_report
from fedbary.views.report.coordinator import clients_by_advice, facts, headline

pytest_plugins = ["report_fixtures"]

NO_ROWS = Note("data.no-rows")

HOSTILE = [
    "<b>",
    "</script><script>alert(1)</script>",
    "<a href='https://example.org'>x</a>",
    "[/oops]",
    "=1+1",
    'it\'s "quoted" & %{x} $y$',
    "\u202eمستشفى",
    "👩‍🔬",
    "x" * 300,
    "{{ 7 * 7 }}",
]


def html(result: fb.Valuation, folder: Path) -> str:
    return write_report(result, folder / "report.html").read_text(encoding="utf-8")


def markup(text: str) -> str:
    """The page without its scripts and data blocks, which a browser does not show."""
    return re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)


def test_the_headline_says_what_to_do():
    def said(*advice: Advice) -> str:
        return headline([Opinion(str(place), one, ()) for place, one in enumerate(advice)])

    include, look, leave, not_valued = Advice
    assert said(include, include) == "Include all 2 clients."
    assert said(include, look, leave, not_valued) == (
        "Include 1 of 4 clients; look at 1 first; leave out 1; 1 could not be valued."
    )
    assert said(look, look) == "Look at 2 first."
    assert said(not_valued) == "1 could not be valued."


def test_a_verdict_on_many_names_the_worst_first_and_counts_the_rest():
    (group,) = clients_by_advice([Opinion(f"c{place}", Advice.LOOK, ()) for place in range(20)])
    assert [one["name"] for one in group["clients"]] == [f"c{place}" for place in range(19, 11, -1)]
    assert group["rest"] == 12


def test_the_ranked_table_has_every_number(made_up, tmp_path):
    text = html(made_up(["near", "far"], {"gone": NO_ROWS}, quality=[0.9, 0.8]), tmp_path)
    rows = re.findall(r'<tr class="(ok|failed)"[^>]*>(.*?)</tr>', text, re.DOTALL)
    cells = [re.sub(r"<[^>]+>", "|", row).replace("\n", "") for _, row in rows]
    assert [kind for kind, _ in rows] == ["ok", "ok", "failed"]
    assert [word in cells[0] for word in ("near", "40", "0.500 – 1", "65.6 %", "ok", "0.90", "include")] == [True] * 7
    assert f"failed: {NO_ROWS}" in cells[2]


def test_it_holds_no_row_even_where_one_process_held_all(made_up, tmp_path):
    text = html(made_up(["a", "b"]), tmp_path)
    assert "row-0" not in text
    assert "fedbary report FOLDER --client NAME" in text


def test_rounds_settings_versions_and_notes_are_told(made_up, tmp_path):
    told = facts(made_up(["a"]))
    assert told["rounds"] == [
        {"name": "a", "first": "11", "last": "4.33", "best": "4.33", "rounds": "2", "support": "8"}
    ]
    assert told["settings"]["space.metric"] == "euclidean"
    assert dict(told["tiles"])["ε spent by each client"] == "no ε: exact"
    assert dict(facts(made_up(["a"], protocol="sketch", epsilon=0.5))["tiles"])["ε spent by each client"] == "0.5"
    text = html(made_up(["a"]), tmp_path)
    assert "column &#39;x&#39;" in text
    assert 'data-chart="convergence"' in text


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


def test_where_nobody_tells_flags_the_verdict_says_what_it_cannot_see(made_up):
    assert "can go unseen" in facts(made_up(["a", "b"], rows=False))["rules"]


def test_a_result_without_any_valued_client_still_has_a_report(made_up, opened, tmp_path):
    path = write_report(made_up([], {"a": NO_ROWS, "b": NO_ROWS}), tmp_path / "report.html")
    page = opened(path)
    assert page.locator("h1").inner_text() == "2 could not be valued."
    assert f"failed: {NO_ROWS}" in page.locator("#ranked").inner_text()


def test_hostile_names_are_text_in_the_markup(made_up, tmp_path):
    text = html(
        made_up(HOSTILE, {"<img src=x>": Note("schema.width", {"column": "<script>", "width": 1, "expected": 2})}),
        tmp_path,
    )
    shown = markup(text)
    assert "<script" not in shown
    assert "<img" not in shown
    assert "<a href" not in shown
    assert "{{ 7 * 7 }}" in shown
    assert text.count("<script>alert") == 0


def test_text_that_utf8_cannot_hold_does_not_stop_the_report(made_up, tmp_path):
    assert "latin&#56575;" in html(
        replace(made_up(["a"]), notes=(Note("schema.constant-column", {"column": "latin\udcff"}),)), tmp_path
    )


def test_a_missing_folder_is_named_and_nothing_half_written_stays(made_up, tmp_path):
    with pytest.raises(DataError, check=coded("data.no-folder")):
        write_report(made_up(["a"]), tmp_path / "nowhere" / "report.html")
    write_report(made_up(["a"]), tmp_path / "report.html")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize("width", [390, 1100])
def test_a_browser_shows_it_offline_without_overflow(made_up, opened, tmp_path, width):
    names = [*HOSTILE, *(f"client_{i}" for i in range(20))]
    quality = np.linspace(0.95, 0.6, len(names)).tolist()
    path = write_report(
        made_up(names, {"gone": Note("schema.width", {"column": "a reason " * 30})}, quality=quality),
        tmp_path / "report.html",
    )
    page = opened(path, viewport={"width": width, "height": 800})
    assert page.locator("html").get_attribute("data-charts") == "drawn"
    assert page.locator("#ranked tbody tr").count() == len(names) + 1
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    drawn = page.locator("[data-chart='shares'] .ytick text")
    # The axis shows the name itself, not markup made of it, and no link.
    assert drawn.nth(0).text_content().strip("\u2068\u2069") == "<b>"
    assert page.locator(".chart a[*|href*='example.org']").count() == 0


def test_hovering_over_a_hostile_name_shows_it_as_text(made_up, opened, tmp_path):
    path = write_report(made_up(HOSTILE, quality=[0.9] * len(HOSTILE)), tmp_path / "report.html")
    page = opened(path)
    chart = page.locator("[data-chart='shares']")
    chart.scroll_into_view_if_needed()
    for place in (1, 2, 5):
        page.evaluate("n => Plotly.Fx.hover(document.querySelector('[data-chart=shares]'), [{pointNumber: n}])", place)
        page.wait_for_function(
            "name => document.querySelector('[data-chart=shares] .hoverlayer').textContent"
            ".replace(/[\u2068\u2069]/g, '').includes(name)",
            arg=HOSTILE[place],
        )
    assert chart.locator(".hoverlayer a").count() == 0


def test_clients_are_sorted_found_filtered_and_saved(made_up, opened, tmp_path):
    names = ["north", "=1+1", 'so"uth,', "west"]
    path = write_report(made_up(names, {"gone": NO_ROWS}, quality=[0.99, 0.98, 0.99, 0.2]), tmp_path / "report.html")
    page = opened(path)
    table = page.locator("#ranked tbody")

    def shown() -> list[str]:
        return table.locator("tr:visible th").all_inner_texts()

    assert shown() == [*names, "gone"]
    page.get_by_role("button", name="Quality").click()
    assert shown() == ["west", "=1+1", "north", 'so"uth,', "gone"]
    page.get_by_role("button", name="Quality").click()
    assert shown()[-2:] == ["west", "gone"]  # what has no quality stays last
    assert page.locator("th[aria-sort=descending]").count() == 1
    page.get_by_label("Show").select_option("look at first")
    assert shown() == ["west"]
    page.get_by_label("Show").select_option("")
    page.get_by_label("Find a client").fill("1+1")
    assert shown() == ["=1+1"]
    page.get_by_label("Find a client").fill("")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as CSV").click()
    with Path(download.value.path()).open(encoding="utf-8-sig", newline="") as file:
        saved = list(csv.DictReader(file))
    assert {row["Client"] for row in saved} == {"north", "'=1+1", 'so"uth,', "west", "gone"}
    first = next(row for row in saved if row["Client"] == "north")
    assert float(first["Share"]) == pytest.approx((1 / 1.1) / sum(1 / (d + 0.1) for d in (1, 2, 3, 4)))
    assert (first["Distance"], first["Rows"]) == ("1.0", "40.0")


def test_a_dark_page_has_dark_charts_and_paper_is_light(made_up, opened, tmp_path):
    path = write_report(made_up(["a", "b"], quality=[0.9, 0.8]), tmp_path / "report.html")
    page = opened(path, color_scheme="dark")

    def colours() -> tuple[str, str]:
        return tuple(
            page.evaluate(
                "[getComputedStyle(document.body).backgroundColor,"
                " getComputedStyle(document.querySelector('.ytick text')).fill]"
            )
        )

    assert colours() == ("rgb(18, 23, 30)", "rgb(230, 235, 241)")
    page.get_by_role("button", name="Light page").click()
    page.wait_for_function("getComputedStyle(document.querySelector('.ytick text')).fill === 'rgb(27, 36, 48)'")
    assert colours()[0] == "rgb(255, 255, 255)"
    page.get_by_role("button", name="Dark page").click()
    page.emulate_media(media="print")
    assert colours()[0] == "rgb(255, 255, 255)"
    paper = page.pdf(format="A4")
    assert paper.startswith(b"%PDF")
    assert paper.count(b"/Type /Page\n") + paper.count(b"/Type /Page ") >= 2


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(made_up, opened, serious, tmp_path, scheme):
    result = made_up(["a", "b", "c"], {"gone": NO_ROWS}, quality=[0.9, 0.9, 0.2])
    page = opened(write_report(result, tmp_path / "report.html"), color_scheme=scheme)
    assert serious(page) == []


def test_a_hundred_clients_stay_under_three_megabytes(made_up, tmp_path):
    names = [f"hospital number {place:03}" for place in range(100)]
    path = write_report(made_up(names, quality=np.linspace(0.99, 0.5, 100).tolist()), tmp_path / "report.html")
    assert path.stat().st_size < 3e6


def test_without_scripts_every_number_is_still_there(made_up, browser, tmp_path):
    path = write_report(made_up(["a", "b"], quality=[0.9, 0.8]), tmp_path / "report.html")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(path.as_uri())
    assert "65.6 %" in page.locator("#ranked").inner_text()
    assert "need JavaScript" in page.locator("main").inner_text()
    assert not page.locator(".tools").is_visible()
    context.close()


@pytest.mark.parametrize("interrupted", [False, True])
def test_a_bad_cell_is_told_to_who_ran_it_and_is_neither_in_the_report_nor_in_the_log(tmp_path, digits, interrupted):
    bad = pd.DataFrame({"x": [*["1.5"] * 30, "CANARY"], "label": ["a", *["b"] * 30]})
    clients, reference = {"fine": digits.take(range(60)), "bad": bad}, digits.take(range(60, 360))

    def stop(event):
        if event.kind == "distances":
            raise KeyboardInterrupt

    if interrupted:
        with pytest.raises(KeyboardInterrupt):
            fb.value(clients, reference, seed=0, engine=fb.LocalEngine(folder=tmp_path), progress=stop)
    engine = fb.LocalEngine(folder=tmp_path, resume=interrupted)
    result = fb.value(clients, reference, seed=0, engine=engine)
    result.save(tmp_path / "out")
    for one in (result, fb.Valuation.load(tmp_path / "out")):
        assert "CANARY" in one.failed["bad"]
        assert "CANARY" not in html(one, tmp_path) + one.to_markdown() + one._repr_html_()
        assert one.outcomes["bad"].has("data.mixed-column")
    assert "CANARY" not in (tmp_path / "events.jsonl").read_text()


def test_with_noise_it_says_so(made_up, tmp_path):
    assert "The true one lies in the interval." in html(made_up(["a", "b"]), tmp_path)
    text = html(made_up(["a", "b"], epsilon=0.5), tmp_path)
    assert "The true one lies in the interval, in at least 95 of 100 runs." in text
    assert "carry the noise of ε = 0.5" in text


@pytest.mark.parametrize("content", ["PAR1 rows", "<!doctype html><title>My thesis</title>"])
def test_a_file_that_is_no_report_is_not_overwritten(made_up, tmp_path, content):
    home = tmp_path / "report.html"
    home.write_text(content)
    with pytest.raises(DataError, check=coded("views.not-a-report")):
        write_report(made_up(["a"]), home)
    assert home.read_text() == content
    home.write_text("")
    html(made_up(["a"]), tmp_path)
    assert "<h1>Include all 2 clients.</h1>" in html(made_up(["a", "b"]), tmp_path)
