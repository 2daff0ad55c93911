"""Numbers on the pages of results come from stored tables: none is typed by hand."""

import pandas as pd
import pytest
from page_blocks import ROOT

import pages
from fedbary_lab.experiments import find, stored
from fedbary_lab.experiments.stored import Provenance

# Tables that have not been computed since pages are made from them. Only to be shortened.
NOT_STORED = {"sites", "worth", "boost", "privacy", "empirical-epsilon"}
SOURCES = sorted((ROOT / "docs" / "sources").glob("*.md"))
FROM = Provenance("fedbary reproduce accuracy", 60, 3, 90.0, 2, "0123abc", {"python": "3.12.1"})


@pytest.fixture(scope="module")
def site():
    return pages.Site()


@pytest.fixture
def small(tmp_path):
    """A site with one stored table, a source of a page, and a page with a block."""
    folder = tmp_path / "docs" / "results" / "stored" / "accuracy"
    folder.mkdir(parents=True)
    (tmp_path / "docs" / "sources").mkdir()
    numbers = {"relative_error": 0.034567, "width": 0.2, "coverage": 1.0}
    spreads = {f"{name}_sd": float("nan") for name in numbers}
    place = {"dataset": "digits", "S": "100", "protocol": "sketch", "seeds": 3, "errors": 0, "error": ""}
    stored.write(folder, pd.DataFrame([place | numbers | spreads]), FROM)
    return pages.Site(tmp_path)


def source(site, name, text):
    (site.docs / "sources" / f"{name}.md").write_text(text, encoding="utf-8")


def test_every_page_is_what_the_stored_tables_say(site):
    differ = [
        str(page.relative_to(ROOT))
        for page, text in site.made().items()
        if not page.is_file() or page.read_text(encoding="utf-8") != text
    ]
    assert not differ, "run python tools/pages.py"


def test_the_tables_that_are_missing_are_known_and_become_fewer(site):
    assert set(site.missing()) - NOT_STORED == set()
    assert not NOT_STORED & set(site.tables), "stored now: shorten NOT_STORED"


@pytest.mark.parametrize("page", SOURCES, ids=[page.name for page in SOURCES])
def test_no_decimal_of_a_source_is_typed_by_hand(page):
    assert pages.typed_decimals(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("It has 0.98, at least 99.5 % and −0.3.", ["0.98", "99.5", "0.3"]),
        ("| a | 0.98 ± 0.01 |", ["0.98", "0.01"]),
        ("10 % of 500 rows, 2,000 in all, α = 0.1, ε = 0.3, q = 0.1, t = 0.5", []),
        ("`0.5`, [a](b-0.5.md), NumPy 2.4.6, commit d27336e, {{ verdict.seen_mean:.3f }}", []),
        ("```text\n0.5\n```\n<!-- 0.5 -->", []),
    ],
)
def test_a_hand_typed_decimal_is_found(text, typed):
    assert pages.typed_decimals(text) == typed


def test_stored_tables_are_small_and_the_list_says_how_long_they_took(site):
    for name, (_, provenance) in site.tables.items():
        assert (site.stored(name) / stored.TABLE).stat().st_size <= pages.LARGEST
        assert find(name).minutes == pytest.approx(provenance.minutes, abs=0.1)


def test_numbers_of_a_source_are_put_in(small):
    source(
        small,
        "results",
        "# Results\n\n{{ accuracy.error_sketch_100_low:.3f }}, {{ accuracy.coverage_least:.0%}} of {{accuracy.cells}} "
        "cells; the paper {{ paper.boost_cifar10_before:.2f }}.\n\n## Verdict\n\n{{ verdict.seen_mean:.3f }}\n",
    )
    made = small.made()
    text = made[small.docs / "results.md"]
    assert text.startswith("# Results\n\n0.035, 100 % of 60 cells; the paper 0.67.\n\n## Verdict\n\nThis table has not")
    assert "`fedbary reproduce verdict`" in text
    page = made[small.docs / "results" / "accuracy.md"]
    assert page.splitlines()[0] == "# Accuracy of the distance"
    assert "`fedbary reproduce accuracy`: 60 cells, 3 seeds, 1.5 minutes of one core" in page
    assert "`0123abc` (python 3.12.1)" in page
    assert "| 100 | 0.035 |" in page


def test_a_section_of_several_tables_has_dashes_for_what_is_missing(small):
    source(small, "paper", "# Paper\n\n| {{ accuracy.cells:.0f }} | {{ verdict.seen_mean:.3f }} |\n")
    assert small.made()[small.docs / "paper.md"].startswith("# Paper\n\n| 60 | – |\n")


def test_all_that_is_wrong_is_said_at_once(small):
    source(small, "results", "# Results\n\n{{ accuracy.one }} {{ accuracy.two }}\n")
    with pytest.raises(pages.PageError, match=r"(?s)'one'.*'two'"):
        small.made()


def test_a_block_of_a_page_is_filled_or_left_as_it_was(small):
    page = small.root / "README.md"
    marked = "before\n<!-- from docs/sources/{}.md -->\nold\n<!-- end -->\nafter\n"
    page.write_text(marked.format("known") + marked.format("unknown"), encoding="utf-8")
    source(small, "known", "It has {{ accuracy.error_sketch_100_low:+.2f }}.\n")
    source(small, "unknown", "It has {{ verdict.seen_mean:.3f }}.\n")
    text = small.made()[page]
    filled = "<!-- from docs/sources/known.md -->\n\nIt has +0.03.\n\n<!-- end -->"
    assert text == f"before\n{filled}\nafter\n" + marked.format("unknown")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{{ accuracy.width }}", "results.md: accuracy has no fact 'width'"),
        ("{{ velocity.mean }}", "results.md: there is no experiment 'velocity'"),
        ("{{ accuracy.cells:.3q }}", "results.md: {{ accuracy.cells:.3q }}"),
        ("{{ accuracy }}", "results.md: {{ accuracy }}"),
        ("It has 0.97.", "results.md: typed by hand: 0.97"),
    ],
)
def test_what_a_source_names_must_be_there(small, text, said):
    source(small, "results", f"# Results\n\n{text}\n")
    with pytest.raises(pages.PageError) as caught:
        small.made()
    assert said in str(caught.value)


def test_finished_experiments_are_taken_over(small, tmp_path):
    folder = tmp_path / "accuracy"
    folder.mkdir()
    table, _ = stored.read(small.stored("accuracy"))
    stored.write(folder, table.assign(relative_error=0.5), FROM)
    assert pages.store(small, folder, "89abcde") == "accuracy: 0 kB, 1.5 minutes of one core"
    again, provenance = stored.read(small.stored("accuracy"))
    assert again["relative_error"].tolist() == [0.5]
    assert provenance.commit == "89abcde"


def test_a_page_that_is_not_complete_says_so(small):
    table, _ = stored.read(small.stored("accuracy"))
    stored.write(small.stored("accuracy"), table, Provenance("c", 1, 1, 1.0, 1, "0", {}, complete=False))
    assert "**Not complete**" in small.made()[small.docs / "results" / "accuracy.md"]


def test_new_tables_come_into_the_navigation(small):
    navigation = "nav:\n      # Tables, by tools/pages.py\n      - results/gone.md\n      # End of tables\n"
    (small.root / "mkdocs.yml").write_text(navigation, encoding="utf-8")
    assert small.made()[small.root / "mkdocs.yml"] == navigation.replace("gone", "accuracy")


def test_paragraphs_are_wrapped_and_nothing_else_is():
    long = "word " * 24 + "1. And goes on."
    table, code = "| a | " + "b " * 80 + "|", "```text\n" + "x " * 90 + "\n```"
    made = pages.wrapped(f"# Title\n\n{long}\n\n{table}\n\n{code}\n\n- one\n- two\n")
    paragraph = made.split("\n\n")[1]
    assert " ".join(paragraph.split()) == " ".join(long.split())
    assert all(len(line) <= pages.WIDTH and not line.startswith("1.") for line in paragraph.splitlines())
    assert made.endswith(f"\n\n{table}\n\n{code}\n\n- one\n- two\n")
