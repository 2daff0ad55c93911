"""A page is plain values: the same as JSON, Markdown, HTML and on a terminal; data is text in all."""

import json

import numpy as np
import pandas as pd
from rich.console import Console

from fedbary.cli.ui.terminal import rendered
from fedbary.notes import Note
from fedbary.views.page import HEADING, Cell, Files, Grid, Items, Line, Page, plain

EVIL = "<b>|*a*\x1b[31m"
PAGE = Page(
    [
        *(Line("Heading", HEADING), "a sentence", "", Line("fedbary value <x>", whole=True)),
        Items(["one", Cell("two", "red")]),
        Grid(("name", "rows"), [(EVIL, 3)], ("rows",), more="and more"),
        Files({"report": "out/report.html"}),
    ],
    {"share": float("nan"), "array": np.array([1.5, np.inf]), "frame": pd.DataFrame({"a": [1, None]})},
)


def test_json_has_null_for_what_is_not_known():
    assert json.loads(PAGE.json()) == {"share": None, "array": [1.5, None], "frame": [{"a": 1.0}, {"a": None}]}
    said = plain(Note("formats.rows-of-nobody", {"column": "site", "count": 3}))
    assert (said["code"], said["facts"]["count"], "site" in said["text"]) == ("formats.rows-of-nobody", 3, True)


def test_markdown_takes_data_literally():
    lines = PAGE.markdown().splitlines()
    assert lines[:2] == ["## Heading", ""]
    assert "| name | rows |" in lines
    assert "| --- | ---: |" in lines
    assert r"| \<b\>\|\*a\* \[31m | 3 |" in lines
    assert "- report: out/report.html" in lines


def test_html_is_a_whole_file_that_runs_nothing_of_the_data():
    text = PAGE.html("a record")
    assert text.startswith("<!doctype html>")
    assert "<title>FedBary: a record</title>" in text
    assert "default-src &#39;none&#39;" in text
    assert "<b>" not in text
    assert "<h2><bdi>Heading</bdi></h2>" in text
    assert "<pre>fedbary value &lt;x&gt;</pre>" in text


def test_a_terminal_never_obeys_data():
    console = Console(width=60, record=True, file=None, quiet=False, force_terminal=False)
    with console.capture() as captured:
        for part in PAGE.parts:
            console.print(rendered(part))
    assert "\x1b" not in captured.get()
    assert "• two" in captured.get()
    assert "  report  out/report.html" in captured.get()
