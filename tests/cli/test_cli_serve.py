"""`fedbary serve`: one address on standard output, and when it ends."""

import sys
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "live"))
from made_up_runs import finish, hostile_run

pytest_plugins = ["live_fixtures"]


def read(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read()


def test_it_prints_one_address_and_stops_when_nobody_looks(beside, tmp_path, log):
    hostile_run(log)
    finish(log, tmp_path / "out")
    serving = beside("serve", "out", "--stop-after", 1)
    url = serving.stdout.readline().strip()
    assert url.startswith("http://127.0.0.1:")
    assert read(url + "report.html").startswith(b"<!doctype html>")
    output, errors = serving.communicate(timeout=20)
    assert (serving.returncode, output) == (0, "")
    assert errors == "stopped: nobody looked for 1 s\n"


def test_an_address_that_others_can_reach_is_warned_of(beside):
    serving = beside("serve", "out", "--host", "0.0.0.0", "--stop-after", 1)
    url = serving.stdout.readline().strip()
    errors = serving.communicate(timeout=20)[1]
    assert errors.startswith("warning: the page and the report of this run can be read at 0.0.0.0 by everyone")
    assert url.rsplit("/", 2)[1] not in errors


def test_a_port_that_is_taken_is_an_error_with_a_remedy(beside):
    first = beside("serve", "out")
    port = first.stdout.readline().rsplit(":", 1)[1].split("/")[0]
    second = beside("serve", "out", "--port", port)
    output, errors = second.communicate(timeout=20)
    assert (second.returncode, output) == (2, "")
    assert f"port {port}" in errors
    assert "choose another" in errors
