"""The commands that fill docs/performance.md run, and fill all of it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

HOME = Path(__file__).parents[1]
BENCHMARKS = HOME / "benchmarks"


def run(*words):
    return subprocess.run([sys.executable, *words], cwd=BENCHMARKS, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "command",
    [
        ("growth.py", "--smoke", "--only", "cards-rows"),
        ("slower.py", "--smoke"),
        ("rivals.py", "--smoke"),
        ("one_support.py", "--smoke"),
    ],
)
def test_a_quick_look_prints_a_table(command):
    if command[0] == "rivals.py":
        for package in ("pydvl", "cleanlab", "torch"):
            pytest.importorskip(package)
    done = run(*command)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n| ") >= 2


def test_every_table_has_its_place_on_the_page():
    page = (HOME / "docs" / "performance.md").read_text(encoding="utf-8")
    names = run("-c", "import growth; print(*growth.TABLES)").stdout.split()
    places = re.findall(r"<!-- ([\w-]+) -->", page)
    assert set(places) == {*names, "rivals", "before-after"}
    assert places == re.findall(r"<!-- end of ([\w-]+) -->", page)


def test_a_table_takes_the_place_of_the_last_one(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import performance_page

    page = tmp_path / "page.md"
    page.write_text("before\n<!-- rows -->\n\nold\n\n<!-- end of rows -->\nafter\n")
    monkeypatch.setattr(performance_page, "PAGE", page)
    performance_page.place("rows", "new\n")
    assert page.read_text() == "before\n<!-- rows -->\n\nnew\n\n<!-- end of rows -->\nafter\n"
