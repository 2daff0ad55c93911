"""The live page in a browser: a real run, names that are instructions, and servers that go away."""

import re
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
import pytest
from made_up_runs import HOSTILE, eventually, finish, hostile_run
from playwright.sync_api import expect

from fedbary.engines.events import Event
from fedbary.engines.live.server import LiveServer

pytest_plugins = ["live_fixtures"]

pytestmark = pytest.mark.slow


@pytest.fixture
def page(browser):
    """A page that must not complain, and must not ask anybody but its own server."""
    page = browser.new_page(viewport={"width": 1100, "height": 900})
    problems, hosts = [], set()
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("dialog", lambda dialog: problems.append(dialog.message))
    page.on("request", lambda request: hosts.add(urlsplit(request.url).hostname))
    page.problems = problems
    yield page
    page.close()
    assert hosts <= {"127.0.0.1", None}


def rows(page):
    return page.eval_on_selector_all(
        "#watched tr", "all => all.map(row => [...row.cells].map(cell => cell.textContent))"
    )


@pytest.fixture
def clinics(tmp_path):
    """Files large enough that a run of twenty rounds lasts some seconds."""
    folder = tmp_path / "sites"
    folder.mkdir()
    for place, name in enumerate(("north", "south <b>", "[oops] 🏥", "reference")):
        rng = np.random.default_rng(place)
        labels = rng.integers(0, 3, 1200)
        values = rng.normal(size=(1200, 8)) + labels[:, None] + 0.3 * place * (name != "reference")
        frame = pd.DataFrame(values, columns=[f"x{i}" for i in range(8)]).assign(label=labels.astype(str))
        home = tmp_path if name == "reference" else folder
        frame.to_parquet(home / f"{name}.parquet")
    return folder


@pytest.mark.slow
def test_a_real_run_is_seen_while_it_runs_and_its_report_comes_by_itself(clinics, page, beside):
    serving = beside("serve", "out")
    page.goto(serving.stdout.readline().strip())
    expect(page.locator("#phase")).to_have_text("waiting for the run to begin")
    options = ["--protocol", "interpolation", "--rounds", 20, "--tolerance", 0, "--support", 150, "--workers", 1]
    run = beside("value", clinics, "--label", "label", "--reference", "reference.parquet", "-o", "out", *options)
    seen = set()

    def looked():
        if page.url.endswith("report.html"):
            return True
        seen.add((page.inner_text("#exchange"), page.inner_text("#answered"), str(rows(page))))
        return run.poll() is not None

    assert eventually(looked, 60)
    assert run.wait(60) == 0, run.communicate()
    exchanges = {exchange for exchange, _, _ in seen if exchange.isdigit()}
    assert len(exchanges) >= 3, seen  # while the run was going on
    tables = [table for _, _, table in seen if re.search(r"\d\.\d", table)]
    assert len(set(tables)) >= 2
    assert all("south <b>" in table and "[oops] 🏥" in table for table in tables)
    page.wait_for_url("**/report.html", timeout=20_000)
    assert "north" in page.inner_text("body")
    assert page.problems == []


@pytest.mark.parametrize("options", [{}, {"color_scheme": "dark", "viewport": {"width": 360, "height": 740}}])
def test_names_are_shown_as_text_and_the_page_is_accessible(browser, serious, tmp_path, log, options):
    hostile_run(log)
    with LiveServer(tmp_path / "out") as server:
        context = browser.new_context(**options)
        page, problems = context.new_page(), []
        page.on("console", lambda message: problems.append(message.text))
        page.on("dialog", lambda dialog: problems.append(dialog.message))
        page.goto(server.url)
        page.wait_for_selector("#watched tr")
        found = rows(page)
        assert [row[0] for row in found] == list(HOSTILE)
        assert found[0][1:] == ["1.50", "", "waiting"]
        assert found[-1][3].startswith("failed: <b>no</b> [bold]label")
        assert page.text_content("#phase") == "round 1"
        assert page.inner_text("#joined") == f"{len(HOSTILE)} of {len(HOSTILE)}"
        assert page.inner_text("#failures") == "1"
        assert page.eval_on_selector_all("#watched script, #watched a, #watched b", "all => all.length") == 0
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        # axe brings a script of its own, which the page's policy would refuse
        checked = browser.new_context(**options, bypass_csp=True).new_page()
        checked.goto(server.url)
        checked.wait_for_selector("#watched tr")
        assert serious(checked) == []
        checked.context.close()
        assert problems == []
        context.close()


@pytest.mark.slow
def test_a_finished_run_goes_to_its_report_unless_one_stays(page, tmp_path, log):
    hostile_run(log)
    with LiveServer(tmp_path / "out") as server:
        page.goto(server.url)
        page.wait_for_selector("#watched tr")
        assert page.is_hidden("#report")
        finish(log, tmp_path / "out")
        page.wait_for_selector("#report:visible")
        page.check("#stay")
        expect(page.locator("#countdown")).to_be_empty()
        assert page.text_content("#phase") == "finished"
        page.reload()
        page.wait_for_selector("#report:visible")
        assert page.is_checked("#stay")
        page.uncheck("#stay")
        page.wait_for_url("**/report.html", timeout=10_000)
        page.goto(server.url)  # over from the start: at once
        page.wait_for_url("**/report.html", timeout=2_000)
        assert page.title() == "The report"
    assert page.problems == []


def test_a_run_that_stops_and_a_server_that_stops_are_said(page, tmp_path, log):
    hostile_run(log)
    log(Event("run-stopped", detail="interrupted"))
    (tmp_path / "out" / "checkpoint.npz").write_bytes(b"")
    with LiveServer(tmp_path / "out") as server:
        page.goto(server.url)
        page.wait_for_selector("#notice:visible")
        assert page.text_content("#phase") == "stopped: interrupted"
        assert "--resume" in page.inner_text("#notice")
        before = rows(page)
    expect(page.locator("#notice")).to_contain_text("The server has stopped.")
    assert rows(page) == before
