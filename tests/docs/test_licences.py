"""Every direct dependency stands on the page of licences, with the parts that need it."""

import re

import licences


def test_the_page_lists_the_dependencies_of_the_project():
    table = licences.PAGE.read_text(encoding="utf-8").partition(licences.HEAD)[2].partition("\n\n")[0]
    listed = {name: parts.split(", ") for name, parts in re.findall(r"^\| ([^|]+) \| ([^|]+) \|", table, re.MULTILINE)}
    assert listed == licences.requirements(), "run python tools/licences.py"
    assert "not installed" not in table
