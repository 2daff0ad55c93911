"""The owner's report in a browser: sorting, filtering, selecting and saving; dark, print, hostile text, pictures."""

import csv
import time

import numpy as np
import pandas as pd
import pytest
from owner_fixtures import HOSTILE, animals, hostile_table, pictures, values_of, view_of

import fedbary as fb
from fedbary.data.export import quoted

NAMES = "[...document.querySelectorAll('#rows tbody th')].map(one => one.textContent)"


def names(page) -> list[str]:
    return page.evaluate(NAMES)


def count(page) -> str:
    return page.locator("#row-count").inner_text()


def saved(page) -> list[list[str]]:
    with page.expect_download() as download:
        page.locator("#save-rows").click()
    with open(download.value.path(), encoding="utf-8-sig", newline="") as file:  # noqa: PTH123
        return list(csv.reader(file))


@pytest.fixture
def shelter(tmp_path, opened):
    """The report of ninety animals, twenty of them flagged."""
    table = animals()
    path = view_of(table, values_of(table, flagged=20)).report(tmp_path / "r.html", client="shelter", table=table)
    return opened(path)


def test_rows_are_sorted_by_any_column_and_missing_values_stay_last(shelter):
    assert names(shelter) == [f"a{i}" for i in range(20)]
    shelter.select_option("#show-rows", "all")
    assert len(names(shelter)) == 50
    heading = shelter.locator("#rows thead th", has_text="weight")
    for direction in ("ascending", "descending"):
        heading.locator("button").press("Enter")
        assert heading.get_attribute("aria-sort") == direction
        shelter.locator("#page-after").click()
        assert all(int(name[1:]) % 10 == 9 for name in names(shelter)[-9:])
        shelter.locator("#page-before").click()
        weights = [float(text) for text in shelter.locator("#rows tbody tr td:nth-last-child(3)").all_inner_texts()]
        assert weights == sorted(weights, reverse=direction == "descending")
    shelter.locator("#rows thead th button", has_text="Row").click()
    assert names(shelter)[:3] == ["a0", "a1", "a2"]
    assert shelter.locator("#rows [aria-sort]").count() == 1


def test_filters_and_search_narrow_the_rows_and_the_count_follows(shelter):
    assert count(shelter) == "20 of 90 rows"
    shelter.select_option("[data-filter=reason] select", "features")
    assert names(shelter) == [f"a{i}" for i in range(1, 20, 2)]
    shelter.select_option("[data-filter=reason] select", "label")
    shelter.select_option("[data-filter=suggested_label] select", "cat")
    assert names(shelter) == [f"a{i}" for i in range(0, 20, 4)]
    shelter.select_option("[data-filter=reason] select", "any")
    shelter.select_option("[data-filter=suggested_label] select", "any")
    shelter.select_option("[data-filter=given_label] select", "dog")
    labels = animals().labels
    assert names(shelter) == [f"a{i}" for i in range(20) if labels[i] == "dog"]
    shelter.select_option("[data-filter=given_label] select", "any")
    shelter.locator("#find-row").fill("FARM")
    assert names(shelter) == [f"a{i}" for i in range(0, 20, 3)]
    shelter.locator("#find-row").fill("no such thing")
    assert (names(shelter), count(shelter)) == ([], "0 of 90 rows")
    assert shelter.locator("#save-rows").is_disabled()


def test_what_is_selected_is_saved_or_else_what_fits_with_whole_numbers(shelter):
    lines = saved(shelter)
    assert lines[0][:6] == ["row", "finding", "suspicion", "given_label", "suggested_label", "why"]
    p_value = lines[0].index("p_value")
    assert [line[0] for line in lines[1:]] == [f"a{i}" for i in range(20)]
    frame = values_of(animals(), flagged=20)
    assert [float(line[p_value]) for line in lines[1:]] == frame["p_value"][:20].tolist()
    for row in ("a3", "a5"):
        shelter.get_by_label(f"Select row {row}", exact=True).check()
    shelter.locator("#find-row").fill("a1")
    assert shelter.locator("#save-rows").inner_text() == "Save 2 selected rows as CSV"
    assert [line[0] for line in saved(shelter)[1:]] == ["a3", "a5"]
    shelter.get_by_label("Select all rows that fit the filters").check()
    assert count(shelter) == "11 of 90 rows, 13 selected"


def test_flags_suspects_and_the_rest_are_told_apart(tmp_path, opened):
    table = animals()
    view = view_of(table, values_of(table, flagged=4, suspects=3))
    page = opened(view.report(tmp_path / "r.html", client="shelter", table=table))
    assert names(page) == [f"a{i}" for i in range(7)]
    assert page.locator("#rows .tag").all_inner_texts() == ["flagged"] * 4 + ["suspect"] * 3
    widths = page.evaluate("[...document.querySelectorAll('#rows .bar i')].map(one => parseFloat(one.style.width))")
    assert widths == sorted(widths, reverse=True)
    page.select_option("#show-rows", "suspect")
    assert names(page) == ["a4", "a5", "a6"]
    page.select_option("#show-rows", "all")
    assert count(page) == "90 of 90 rows"


@pytest.mark.parametrize("width", [390, 700, 1100, 1600])
def test_the_table_is_never_cut_off(tmp_path, opened, width):
    table = fb.Table(
        {f"a rather long name of column {i}": np.arange(60.0) * 1e5 + i for i in range(12)},
        np.array(["cat", "dog"], dtype=object)[np.arange(60) % 2],
    )
    frame = values_of(table, flagged=9)
    frame["columns"] = pd.array(["a rather long name of column 7", *[None] * 59], dtype="string")
    path = view_of(table, frame).report(tmp_path / "r.html", client="shelter", table=table)
    page = opened(path, viewport={"width": width, "height": 800})
    around = page.locator("[aria-label=Rows]")
    assert around.evaluate("one => one.scrollWidth <= one.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("#rows thead").is_visible() == (width > 600)  # below that, every row is a card
    if 600 < width < 1600:
        assert "not fit this window" in page.locator("#columns-hidden").inner_text()
    elif width < 600:
        page.select_option("#sort-rows", "Suspicion")
        assert names(page)[0] == "0"


def test_a_click_on_a_point_shows_its_row(shelter):
    spot = shelter.locator("[data-chart=row-map]")
    spot.scroll_into_view_if_needed()
    point = shelter.evaluate(
        """() => { const chart = document.querySelector('[data-chart=row-map]');
        const place = chart.data.findIndex(one => one.name === 'flagged: features');
        chart.emit('plotly_click', {points: [{customdata: chart.data[place].customdata[0]}]});
        return chart.data[place].customdata[0][2]; }"""
    )
    assert names(shelter) == [point]
    assert count(shelter) == f"1 of 90 rows: row {point}"
    shelter.locator("#show-all-rows").click()
    assert len(names(shelter)) == 20


def test_dark_colours_reach_the_charts_and_nothing_is_seriously_inaccessible(tmp_path, opened, serious):
    table = animals()
    path = view_of(table, values_of(table, flagged=60)).report(tmp_path / "r.html", client="shelter", table=table)
    colours = []
    for scheme in ("light", "dark"):
        page = opened(path, color_scheme=scheme)
        assert serious(page) == []
        text = page.locator("[data-chart=row-values] .xtitle").evaluate("one => getComputedStyle(one).fill")
        colours.append((page.evaluate("getComputedStyle(document.body).backgroundColor"), text))
    assert len(set(colours)) == len({paper for paper, _ in colours}) == len({ink for _, ink in colours}) == 2


def test_paper_has_every_flagged_row_and_no_controls(tmp_path, opened):
    table = animals()
    path = view_of(table, values_of(table, flagged=60)).report(tmp_path / "r.html", client="shelter", table=table)
    page = opened(path, color_scheme="dark")
    rows = "document.querySelectorAll('#rows tbody tr').length"
    page.evaluate(f"window.addEventListener('beforeprint', () => {{ window.printed = {rows}; }})")
    assert page.pdf().startswith(b"%PDF")
    assert page.evaluate(f"[window.printed, {rows}]") == [60, 50]
    page.emulate_media(media="print")
    assert not page.locator("#row-tools").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_without_scripts_the_first_flagged_rows_are_there(tmp_path, browser):
    table = animals()
    path = view_of(table, values_of(table, flagged=60)).report(tmp_path / "r.html", client="shelter", table=table)
    page = browser.new_page(java_script_enabled=False)
    page.goto(path.as_uri())
    assert page.locator("#rows tbody th").all_inner_texts() == [f"a{i}" for i in range(50)]
    assert not page.locator("#row-tools").is_visible()
    page.close()


def test_hostile_text_stays_text_on_the_page_in_the_hover_and_in_files(tmp_path, opened, serious):
    table = hostile_table()
    client = "".join(HOSTILE[:6])
    frame = values_of(table, flagged=9, classes=HOSTILE)
    page = opened(view_of(table, frame, client).report(tmp_path / "r.html", client=client, table=table))
    assert names(page) == [f"{HOSTILE[i]} {i}" for i in range(9)]
    assert page.locator("main img, main a").count() == 0
    assert page.title() == f"FedBary: the rows of {client}"
    assert serious(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 1100
    page.select_option("[data-filter=given_label] select", HOSTILE[0])
    assert names(page) == [f"{HOSTILE[0]} 0", f"{HOSTILE[5]} 5"]
    page.select_option("[data-filter=given_label] select", "any")

    cells = [
        "x;=HYPERLINK(1)",
        " =cmd()",
        "\ufeff=1",
        "\uff1d1",
        "a\r=1",
        "\ta",
        "-1,5+cmd()",
        "-1;-2.5e3",
        "+",
        "a-b",
        ",-1",
    ]
    assert page.evaluate("all => all.map(fedbaryTables.quoted)", cells) == [quoted(cell) for cell in cells]
    lines = saved(page)
    assert [line[0] for line in lines[1:]] == [quoted(f"{HOSTILE[i]} {i}") for i in range(9)]
    assert lines[0][-3:] == [HOSTILE[0], "'=1+1", "value (column)"]
    assert [line[-1] for line in lines[1:]] == [quoted(HOSTILE[i]) for i in range(9)]

    for place, trace in enumerate(
        page.evaluate("document.querySelector('[data-chart=row-map]').data.map(o => o.name)")
    ):
        if trace == "target":
            continue
        page.evaluate(
            "n => Plotly.Fx.hover(document.querySelector('[data-chart=row-map]'), [{curveNumber: n, pointNumber: 0}])",
            place,
        )
        row = page.evaluate("n => document.querySelector('[data-chart=row-map]').data[n].customdata[0][2]", place)
        page.wait_for_function(
            "name => document.querySelector('[data-chart=row-map] .hoverlayer').textContent.includes(name)",
            arg=row[:40],
        )
    assert page.locator("[data-chart] a, [data-chart] img, [data-chart] script").count() == 0


def test_two_thousand_rows_with_pictures_stay_quick(tmp_path, opened):
    table = pictures(2000)
    path = view_of(table, values_of(table, flagged=300, classes=("0", "1", "2"))).report(
        tmp_path / "r.html", client="shelter", table=table
    )
    page = opened(path)
    images = page.locator("#rows img")
    assert images.count() == 50
    assert images.first.evaluate("one => [one.complete, one.naturalWidth, one.naturalHeight]") == [True, 28, 28]
    assert images.first.get_attribute("alt") == "row 0 as a picture"

    def timed(what: str, act) -> None:
        start = time.perf_counter()
        act()
        print(f"{what}: {1000 * (time.perf_counter() - start):.0f} ms")

    timed("show all", lambda: page.select_option("#show-rows", "all"))
    assert count(page) == "2,000 of 2,000 rows"
    for heading in ("Row", "Finding", "Given label", "Why"):
        timed(f"sort by {heading}", page.locator("#rows thead button", has_text=heading).first.click)
    timed("sort by suspicion", page.get_by_role("button", name="Suspicion", exact=True).click)
    timed("and back", page.get_by_role("button", name="Suspicion", exact=True).click)
    assert names(page)[:2] == ["0", "1"]
    timed("filter", lambda: page.select_option("[data-filter=reason] select", "features"))
    assert count(page) == "1,000 of 2,000 rows"
    timed("search", lambda: page.locator("#find-row").fill("19"))
    assert all("19" in name for name in names(page)[:5])
    timed("select all", page.get_by_label("Select all rows that fit the filters").check)
    timed("save", lambda: saved(page))


def test_a_browser_that_cannot_unpack_the_charts_keeps_the_table(tmp_path, browser):
    table = animals()
    path = view_of(table, values_of(table, flagged=20)).report(tmp_path / "r.html", client="shelter", table=table)
    page, errors = browser.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.add_init_script("delete window.DecompressionStream")
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-charts=failed]")
    assert "too old for the charts" in page.locator("[data-chart=row-map]").inner_text()
    assert len(names(page)) == 20
    assert errors == []
    page.close()
