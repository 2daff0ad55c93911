"""A hostile `outcome.json` is a sentence: its report is opened in a browser, and its code ends a command."""

import json

import pytest

from codes import coded
from fedbary.engines.coordinator import OUTCOME, RunOutcome, RunStatus, read_outcome
from fedbary.errors import ProtocolError


@pytest.mark.parametrize(
    "other",
    [
        {"report": "../../elsewhere.html"},
        {"report": "/etc/passwd"},
        {"report": ["report.html"]},
        {"exit_code": "0"},
        {"exit_code": True},
        {"exit_code": 0.5},
        {"text": ["a"]},
        {"run": 17},
        {"status": "well"},
        {"fedbary_outcome": 2},
        {"more": 1},
    ],
)
def test_what_no_run_writes_is_refused(tmp_path, other):
    RunOutcome(RunStatus.DONE, 0, text="well", engine="flower", run="17", report="report.html").save(tmp_path)
    assert read_outcome(tmp_path).exit_code == 0
    content = json.loads((tmp_path / OUTCOME).read_text())
    (tmp_path / OUTCOME).write_text(json.dumps(content | other))
    with pytest.raises(ProtocolError, check=coded("engines.outcome-unreadable")):
        read_outcome(tmp_path)
