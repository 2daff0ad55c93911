"""`fedbary report`: whose report is written where, from which file, and what opens it."""

import json

import pytest

import fedbary as fb
from fedbary.cli.ui import terminal as opening

pytest_plugins = ["cli_fixtures"]
VALUE = ("--label", "ill", "--id", "id", "--reference", "reference.csv", "--seed", 0)
MINE = "This report holds rows of"


@pytest.fixture
def out(sites, fedbary):
    """A result folder without its report."""
    code, _, errors = fedbary("value", "sites", *VALUE, "-o", "out", "--no-report")
    assert code == 0, errors
    return sites.parent / "out"


def test_the_coordinators_report_is_the_default_and_may_be_left_out_of_value(fedbary, out):
    assert not (out / "report.html").exists()
    code, said, _ = fedbary("report", "out")
    assert (code, said.split()) == (0, ["written", "out/report.html"])
    assert MINE not in (out / "report.html").read_text(encoding="utf-8")
    assert fedbary("value", "sites", *VALUE, "-o", "out", "--no-report")[0] == 0
    assert not (out / "report.html").exists()  # it would be of another run


def test_an_owners_report_shows_the_file_that_was_valued(fedbary, out):
    code, said, _ = fedbary("report", "out", "--client", "north")
    assert code == 0
    assert "out/report-north.html" in said
    assert "for their owner" in said
    text = (out / "report-north.html").read_text(encoding="utf-8")
    assert MINE in text
    assert '"given_label"' in text
    assert "Oslo" in text
    assert "Where the rows lie" in text


def test_every_client_gets_one_and_a_changed_file_is_named(fedbary, out, sites):
    assert fedbary("report", "out", "--all-clients")[0] == 0
    assert {path.name for path in out.glob("report*.html")} == {"report-north.html", "report-south.html"}
    (sites / "south.csv").write_text((sites / "south.csv").read_text().replace("Oslo", "Rome"))
    code, said, _ = fedbary("report", "out", "--all-clients", "--json")
    assert code == 3
    answer = json.loads(said)
    assert list(answer["written"]) == ["north"]
    assert "was changed since" in answer["failed"]["south"]


def test_a_result_without_files_is_told_of_them_or_does_without(fedbary, out, sites):
    clients = {"a b": fb.read(sites / "north.csv", "ill", id="id")}
    fb.value(clients, fb.read("reference.csv", "ill", id="id"), seed=0).save("library")
    assert fedbary("report", "library", "--client", "a b")[0] == 0
    page = sites.parent / "library" / "report-a_b.html"
    assert '"given_label"' not in page.read_text(encoding="utf-8")
    named = ("report", "library", "--client", "a b", "--data", "sites/north.csv", "--label", "ill")
    assert "--id" in fedbary(*named)[2]
    assert fedbary(*named, "--id", "id", "-o", "mine.html")[0] == 0
    assert '"given_label"' in (sites.parent / "mine.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--client", "nort"), "valuation.no-client"),
        (("--data", "sites/north.csv"), "cli.report-of-whom"),
        (("--client", "north", "--data", "sites/south.csv"), "cli.other-rows"),
        (("--client", "north", "--images", "large"), "cli.images-option"),
        (("--client", "north", "--images", "8x8"), "views.no-block-of-that-shape"),
        (("--all-clients", "-o", "x.html"), "cli.all-clients-alone"),
        (("-o", "nowhere/x.html"), "data.no-folder"),
    ],
)
def test_mistakes_have_their_code(refused, out, arguments, code):
    assert refused("report", "out", *arguments).code == code


def test_opening_uses_the_browser_unless_there_is_none_or_it_is_forbidden(tmp_path, monkeypatch, capsys):
    page, seen = tmp_path / "a report.html", tmp_path / "seen"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf "%s" "$1" > "{seen}"\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    assert not opening.open_file(page)  # FEDBARY_NO_BROWSER=1 in all tests
    monkeypatch.delenv("FEDBARY_NO_BROWSER")
    import webbrowser

    monkeypatch.setattr(webbrowser, "_tryorder", None)
    assert opening.open_file(page)
    assert seen.read_text() == page.as_uri()
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"):
        monkeypatch.delenv(name, raising=False)
    assert not opening.open_file(page)
    assert str(page) in capsys.readouterr().err
