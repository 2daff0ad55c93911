"""A test that is taken for quick and is not ends `make test`, and the list of slow ones is made of a measurement."""

import subprocess
import sys

import mark_slow
import measured

HOOKS = """\
import sys
sys.path.insert(0, {tools!r})
import measured
measured.TOO_MUCH = 0.2
def pytest_configure(config):
    config.pluginmanager.register(measured.Measured("1"))
"""
TESTS = """\
import time
import pytest
def busy(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
@pytest.fixture(scope="module")
def shared():
    busy(0.4)
@pytest.mark.parametrize("seconds", [0.0, 0.4])
def test_busy(seconds):
    busy(seconds)
def test_shares(shared):
    pass
def test_sleeps():
    time.sleep(0.4)
"""


def test_who_uses_too_much_of_the_processor_fails_the_run_and_is_named(tmp_path):
    (tmp_path / "conftest.py").write_text(HOOKS.format(tools=str(measured.ROOT / "tools")))
    (tmp_path / "test_some.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", tmp_path]
    done = subprocess.run([*command, tmp_path], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "4 passed" in done.stdout
    assert [line.split()[0] for line in done.stdout.splitlines() if " of the processor" in line] == [
        "test_some.py::test_busy[0.4]"
    ]
    assert "python tools/mark_slow.py test_some.py" in done.stdout


def test_listed_ones_attacks_and_the_first_to_import_something_may(monkeypatch):
    monkeypatch.setattr(measured, "slow_tests", lambda: frozenset({"tests/a.py::test_listed"}))
    made = measured.Measured("1")
    made.seconds = dict.fromkeys(
        (
            "tests/a.py::test_listed[1]",
            "packages/fedbary/tests/guard/test_node.py::test_attack",
            "tests/a.py::test_first",
            "tests/a.py::test_x",
        ),
        1.1,
    ) | {"tests/a.py::test_quick": 0.9}
    made.fair = {name: "first" not in name for name in made.seconds}
    assert list(made.too_slow()) == ["tests/a.py::test_x"]


def test_the_list_is_of_functions_with_all_their_cases(tmp_path):
    (tmp_path / "seconds.tsv").write_text("a.py::f[1\t2]\t0.3\na.py::f[3]\t0.2\na.py::g\t0.1\n")
    assert mark_slow.functions(tmp_path / "seconds.tsv") == {"a.py::f": 0.5, "a.py::g": 0.1}


def test_what_was_not_run_stays_in_the_list_as_long_as_it_is_there(tmp_path, monkeypatch):
    (tmp_path / "seconds.tsv").write_text("a.py::test_slow\t0.5\na.py::test_now_quick\t0.01\n")
    (tmp_path / "a.py").write_text("def test_slow(): ...\ndef test_now_quick(): ...\ndef test_kept(): ...\n")
    (tmp_path / "list.txt").write_text("a.py::test_now_quick\na.py::test_kept\na.py::test_gone\nb.py::test_gone\n")
    for module in (mark_slow, measured):
        monkeypatch.setattr(module, "LIST", tmp_path / "list.txt")
    monkeypatch.setattr(mark_slow, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["mark_slow.py", "--from", str(tmp_path / "seconds.tsv")])
    mark_slow.main()
    assert (tmp_path / "list.txt").read_text() == "a.py::test_kept\na.py::test_slow\n"
