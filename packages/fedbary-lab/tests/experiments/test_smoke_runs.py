"""Every experiment runs in small, goes on where it stopped, and can be printed from its files to the letter."""

import math

import pandas as pd
import pytest

import pages
from fedbary_lab.experiments import EXPERIMENTS, find, stored

NAMES = [experiment.name for experiment in EXPERIMENTS]


@pytest.mark.parametrize("name", NAMES)
def test_smoke_runs_complete_resume_and_are_printed_from_their_files(name, tmp_path):
    experiment, events = find(name), []
    first = experiment.run(tmp_path, smoke=True, progress=events.append)
    errors = {done.cell: done.error for done in events if done.error}
    assert all("cleanlab" in cell for cell in errors), errors
    folder = experiment.folder(tmp_path, smoke=True)
    page = (folder / "table.md").read_text(encoding="utf-8")
    assert page.startswith("# ")
    table, provenance = stored.read(folder)
    assert experiment.module.markdown(table) == page
    assert (provenance.command, provenance.cells) == (f"fedbary reproduce {name} --smoke", len(experiment.cells(True)))
    assert provenance.seconds > 0
    assert all(math.isfinite(value) for value in experiment.facts(table).values())
    lines = pages.result_page(experiment, table, provenance).splitlines()
    assert [lines[0], *lines[3:]] == page.splitlines()
    assert f"`fedbary reproduce {name} --smoke`" in lines[2]
    events.clear()
    second = experiment.run(tmp_path, smoke=True, progress=events.append)
    assert [done.cell for done in events if done.seconds] == list(errors)
    pd.testing.assert_frame_equal(first, second)
