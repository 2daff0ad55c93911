"""The coordinator's report: its facts, that names stay names, that it holds no row, and that a browser shows it."""

import csv
import re
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from codes import coded
from fedbary.errors import DataError
from fedbary.notes import Note
from fedbary.valuation.outcome import Outcome, Status
from fedbary.valuation.verdict import Advice, Opinion
from fedbary.views.advice import headline, problems
from fedbary.views.coordinator import facts, write_report

pytest_plugins = ["report_fixtures"]

NO_ROWS = Note("data.no-rows")
TODAY = date(2026, 2, 3)

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

    include, look, leave, unknown, not_valued = Advice
    assert said(include, include, include) == "Include all 3 clients."
    assert said(include, look, leave, unknown, not_valued) == (
        "Include 1 of 5 clients, look at 1 first, leave out 1, nothing can be said of 1, 1 could not be valued."
    )
    assert said(look, look) == "Look at both clients first."
    assert said(not_valued) == "The only client could not be valued."


def test_problems_come_worst_first_and_those_who_share_one_stand_together():
    opinions = [
        Opinion("best", Advice.INCLUDE, (Note("verdict.no-flag"),)),
        *(Opinion(f"c{place}", Advice.LOOK, (Note("verdict.adds-nothing", {"value": -place}),)) for place in range(20)),
        Opinion("harmful", Advice.LEAVE, (Note("verdict.harms", {"value": -1.0}),)),
        *(Opinion(f"gone{place}", Advice.NOT_VALUED, (NO_ROWS,)) for place in range(30)),
        Opinion("slow", Advice.NOT_VALUED, (Note("engines.no-answer", {"seconds": 60.0}),)),
    ]
    outcomes = {opinion.client: Outcome(Status.FAILED, opinion.reasons) for opinion in opinions}
    outcomes["slow"] = Outcome(Status.SILENT, opinions[-1].reasons)
    leave, look, failed = problems(opinions, outcomes, one_process=True, folder="out")
    assert [entry.names for entry in leave.entries] == [("harmful",)]
    assert [entry.names for entry in look.entries[:6]] == [(f"c{place}",) for place in range(19, 13, -1)]
    assert len(look.entries) == 20
    assert look.remedy.command == "fedbary report out --client c19"
    slow, empty = failed.entries
    assert len(empty.names) == 30
    assert empty.remedy.command == "fedbary check FILE --schema out/schema.json"
    assert "resume" in slow.remedy.before
    (_, _, elsewhere) = problems(opinions, outcomes, one_process=False, folder=None)
    assert "Ask its owner" in elsewhere.entries[1].remedy.before


def test_it_begins_with_what_was_valued_where_and_when(made_up):
    told = facts(made_up(["a", "b"], engine="flower", networked=True), today=TODAY)
    assert told["title"] == "Data valuation of 2 clients"
    assert told["about"][:3] == ["3 February 2026", "a and b", "compared with 797 reference rows"]
    assert told["about"][3] == "protocol interpolation, over a network (Flower)"


def test_it_says_what_carried_the_messages(made_up):
    engines = [{}, dict(engine="files", networked=True), dict(engine="nvflare", networked=True)]
    engines += [dict(engine="nvflare", networked=False), dict(engine="http", networked=True)]
    assert [facts(made_up(["a"], **engine), today=TODAY)["about"][3].partition(", ")[2] for engine in engines] == [
        "in one process",
        "by files",
        "over a network (NVIDIA FLARE)",
        "simulated on one machine (NVIDIA FLARE)",
        "over a network (http)",
    ]


def test_the_table_has_every_number_and_problems_come_first(made_up, tmp_path):
    text = html(made_up(["near", "far"], {"gone": NO_ROWS}, quality=[0.99, 0.98]), tmp_path)
    rows = re.findall(r'<tr class="(ok|failed)"[^>]*>(.*?)</tr>', text, re.DOTALL)
    cells = [re.sub(r"<[^>]+>", "|", row).replace("\n", "") for _, row in rows]
    assert [kind for kind, _ in rows] == ["failed", "ok", "ok"]
    assert [word in cells[1] for word in ("near", "40", "0.500 – 1", "65.6 %", "0.99", "include")] == [True] * 6
    assert "not valued" in cells[0]
    assert re.search(rf"gone.*{NO_ROWS}.*<dl class=\"tiles\">", text, re.DOTALL)


def test_shift_and_blur_stand_with_their_columns_and_the_reference_is_named_first(made_up, tmp_path):
    differs = Note("judging.shift", {"shift": 0.9, "columns": ("glucose", "<b>")})
    reference = Note("judging.reference-differs", {"shift": 0.8, "columns": ("glucose",), "clients": 2})
    result = made_up(["near", "far"], quality=[0.99, 0.98])
    result = replace(result, notes=(reference,), outcomes={"near": Outcome(), "far": Outcome(Status.OK, (differs,))})
    text = markup(html(result, tmp_path))
    far = next(row for row in text.split("<tr ")[1:] if 'name">far<' in row)
    assert '0.1 σ<small class="names"><bdi>glucose and &lt;b&gt;</bdi></small>' in far
    assert "×1.2" in far
    assert text.index("Nearly all clients") < text.index('id="verdict"')
    assert text.count("look at the reference") == 1
    assert "Different is not bad" in text
    assert facts(result, today=TODAY)["client_notes"] == [{"text": str(differs), "names": "far"}]


def test_tiles_say_what_is_wrong_in_all_and_where_most(made_up):
    result = made_up(["a", "b"], quality=[1.0, 0.7], reference_missing=0.01)
    clients = result.clients.assign(wrong_labels=[0.0, 0.3], odd_features=0.0, missing=[0.02, 0.0])
    tiles = {
        name: (figure, beside) for name, figure, beside in facts(replace(result, clients=clients), today=TODAY)["tiles"]
    }
    assert tiles["clients valued"] == ("2 of 2", "80 rows together")
    assert tiles["wrong labels, estimated"] == ("15 %", "about 12 rows; most in b")
    assert tiles["rows with odd features, estimated"] == ("none", "")
    assert tiles["cells missing"] == ("1 %", "reference 1 %; most in a")
    assert "wrong labels, estimated" not in {name for name, *_ in facts(made_up(["a"]), today=TODAY)["tiles"]}


def test_notes_of_clients_are_said_once(made_up):
    result = made_up(["a", "b", "c", "d", "e"])
    note = Note("schema.constant-column", {"column": "x"})
    told = facts(replace(result, outcomes=dict.fromkeys("abcde", Outcome(Status.OK, (note,)))), today=TODAY)
    assert told["client_notes"] == [{"text": str(note), "names": "a, b, c and 2 more"}]


def test_what_it_says_of_other_parties_is_true_of_the_engine(made_up, tmp_path):
    alone = html(made_up(["a"]), tmp_path)
    assert "Nothing, to nobody" in alone
    assert "The server would learn" in alone
    federated = html(made_up(["a"], rows=False, engine="flower", networked=True), tmp_path)
    assert "Nothing, to nobody" not in federated
    assert "The server learned" in federated


def test_it_holds_no_row_even_where_one_process_held_all(made_up, tmp_path):
    text = html(made_up(["a", "b"]), tmp_path)
    assert "row-0" not in text
    assert "fedbary report FOLDER --client NAME" in text
    made_up(["a", "b"]).save(tmp_path)
    assert f"fedbary report {tmp_path} --client NAME" in html(made_up(["a", "b"]), tmp_path)


def test_rounds_settings_versions_and_notes_are_told(made_up, tmp_path):
    told = facts(made_up(["a"], sketch_error=1.23456789), today=TODAY)
    assert told["rounds"] == [["a", "11", "4.33", "4.33", "2", "8"]]  # first, last, lowest, rounds, support
    assert told["settings"]["space.metric"] == "euclidean"
    assert told["settings"]["sketch_error"] == "1.235"
    assert "ε spent by each client" not in {name for name, *_ in told["tiles"]}
    noisy = facts(made_up(["a"], protocol="sketch", epsilon=0.5), today=TODAY)["tiles"]
    assert ("ε spent by each client", "0.5") in {(name, figure) for name, figure, _ in noisy}
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


def test_where_nobody_tells_flags_the_verdict_says_what_it_cannot_see(made_up):
    assert "can go unseen" in facts(made_up(["a", "b"], rows=False), today=TODAY)["rules"][-1]


def test_a_result_without_any_valued_client_still_has_a_report(made_up, opened, tmp_path):
    path = write_report(made_up([], {"a": NO_ROWS, "b": NO_ROWS}), tmp_path / "report.html")
    page = opened(path)
    assert page.locator("h1").inner_text() == "Both clients could not be valued."
    assert str(NO_ROWS)[1:] in page.locator(".problem").inner_text()


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
    result = made_up(names, {"gone": Note("schema.width", {"column": "a reason " * 30})}, quality=quality)
    most = {"columns": ("Blutzucker_nuechtern_mmol_pro_Liter", "<b>age</b>", "a_third_column")}
    effects = Note("judging.shift", {"shift": 0.9, **most}), Note("judging.blur", {"blur": 1.4, **most})
    outcomes = {name: replace(one, notes=(*one.notes, *effects)) for name, one in result.outcomes.items()}
    path = write_report(replace(result, outcomes=outcomes), tmp_path / "report.html")
    page = opened(path, viewport={"width": width, "height": 800})
    assert page.locator("html").get_attribute("data-charts") == "drawn"
    rows = page.locator("#ranked tbody tr")
    assert (rows.count(), page.locator("#ranked tbody tr:visible").count()) == (len(names) + 1, 25)
    page.get_by_role("button", name=f"Show all {len(names) + 1} clients").click()
    assert page.locator("#ranked tbody tr:visible").count() == len(names) + 1
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".scroll").first.evaluate("one => one.scrollWidth <= one.clientWidth")  # nothing is cut off
    drawn = page.locator("[data-chart='qualities'] .ytick text")
    # The axis shows the name itself, not markup made of it, and no link.
    assert drawn.nth(0).text_content().strip("\u2068\u2069") == "<b>"
    assert page.locator(".chart a[*|href*='example.org']").count() == 0


def test_hovering_over_a_hostile_name_shows_it_as_text(made_up, opened, tmp_path):
    path = write_report(made_up(HOSTILE, quality=[0.99] * len(HOSTILE)), tmp_path / "report.html")
    page = opened(path)
    chart = page.locator("[data-chart='qualities']")
    chart.scroll_into_view_if_needed()
    for place in (1, 2, 5):
        page.evaluate(
            "at => Plotly.Fx.hover(document.querySelector('[data-chart=qualities]'), [at])",
            {"curveNumber": 1, "pointNumber": place},
        )
        page.wait_for_function(
            "name => document.querySelector('[data-chart=qualities] .hoverlayer').textContent"
            ".replace(/[\u2068\u2069]/g, '').includes(name)",
            arg=HOSTILE[place],
        )
    assert chart.locator(".hoverlayer a").count() == 0


def test_clients_are_sorted_found_filtered_and_saved(made_up, opened, tmp_path):
    names = ["north", "=1+1", 'so"uth,', "west", *(f"more {place}" for place in range(5))]
    quality = [0.998, 0.98, 0.998, 0.8, *[0.999] * 5]
    path = write_report(made_up(names, {"gone": NO_ROWS}, quality=quality), tmp_path / "report.html")
    page = opened(path)
    table = page.locator("#ranked tbody")

    def shown() -> list[str]:
        return table.locator("tr:visible th").all_inner_texts()

    assert shown()[:2] == ["west", "gone"]  # problems first
    page.get_by_role("button", name="Quality").click()
    assert [shown()[place] for place in (0, 1, 2, 3, -1)] == ["west", "=1+1", "north", 'so"uth,', "gone"]
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
    assert {row["Client"] for row in saved} == {"'=1+1", "gone", *names} - {"=1+1"}
    first = next(row for row in saved if row["Client"] == "north")
    assert float(first["Share"]) == pytest.approx((1 / 1.1) / sum(1 / (d + 0.1) for d in range(1, 10)))
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
    result = made_up(["a", "b", "c"], {"gone": NO_ROWS}, quality=[0.99, 0.99, 0.8])
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
def test_a_bad_cell_is_neither_in_the_report_nor_in_the_log(tmp_path, digits, interrupted):
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
        assert "CANARY" not in html(one, tmp_path) + one.to_markdown() + one._repr_html_()
        assert not one.outcomes["bad"].ok
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
    assert "<h1>Include both clients.</h1>" in html(made_up(["a", "b"]), tmp_path)
