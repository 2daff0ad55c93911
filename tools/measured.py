"""How much of the processor every test uses, and which of them are slow.

With ``FEDBARY_MEASURE=1`` in the environment, as in `make test`, pytest fails at its end, naming the test, where one
used more than ``TOO_MUCH`` seconds and is not in ``tests/slow_tests.txt``. With ``FEDBARY_MEASURE=FILE`` it writes a
line for every test instead: its name, a tab, and its seconds. ``tools/mark_slow.py`` makes the list of such a file.

Seconds are of the processor, of this process and of those that it started, a browser too, so a busy machine has hardly
any part in them. They are those of a test and of its own fixtures; what it shares with other tests is nobody's. They
are not held against a test that was the first to import something.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIST = ROOT / "tests" / "slow_tests.txt"
# A function is slow that uses more than this with all its cases; the space between the two is for busy machines.
SLOW = 0.05
TOO_MUCH = 1.0
# Attacks that once succeeded: `make check` plays every one on the core, `make test` Flower's too, whatever they take.
ATTACKS = (
    "packages/fedbary-flower/tests/test_node_names.py",
    "packages/fedbary/tests/guard/test_fresh_t.py",
    "packages/fedbary/tests/guard/test_guarded_client.py",
    "packages/fedbary/tests/guard/test_ledger.py",
    "packages/fedbary/tests/guard/test_node.py",
    "packages/fedbary/tests/guard/test_own_table.py",
    "packages/fedbary/tests/guard/test_owner_folder.py",
    "packages/fedbary/tests/guard/test_policy.py",
    "packages/fedbary/tests/guard/test_redaction.py",
    "packages/fedbary/tests/guard/test_released_cards.py",
    "packages/fedbary/tests/protocols/test_cards_attacks.py",
    "packages/fedbary/tests/protocols/test_hostile_replies.py",
    "packages/fedbary/tests/protocols/test_message_digest.py",
    "packages/fedbary/tests/protocols/test_sketch_attacks.py",
    "packages/fedbary/tests/protocols/test_sketch_private.py",
    "packages/fedbary/tests/test_foreign_text.py",
)
_PROPERTY = "processor seconds"
_TICKS = os.sysconf("SC_CLK_TCK")


def slow_tests() -> frozenset[str]:
    """The functions in the list, as ``file::name``."""
    return frozenset(LIST.read_text(encoding="utf-8").splitlines())


def function_of(nodeid: str) -> str:
    """A test without its case."""
    return nodeid.partition("[")[0]


def is_attack(nodeid: str) -> bool:
    """Whether a test is run by `make check` however slow it is."""
    return nodeid.startswith(ATTACKS)


def used() -> float:
    """Seconds of the processor until now, of this process and of all that it started, ended or not."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime + _of_the_living("self")


def _of_the_living(process: str) -> float:
    """Seconds of the processes that one has started and not waited for, and of theirs; 0 where the system is silent."""
    total = 0.0
    for file in Path(f"/proc/{process}/task").glob(f"{'*' if process == 'self' else process}/children"):
        for child in _words(file):
            words = _words(Path(f"/proc/{child}/stat"), after=")")
            total += sum(map(int, words[11:15])) / _TICKS + _of_the_living(child)
    return total


def _words(file: Path, after: str = "\0") -> list[str]:
    try:
        return file.read_text().rpartition(after)[2].split()
    except OSError:  # it has ended
        return []


class Measured:
    """The plug-in: measures where tests run, and collects, writes and judges where pytest was started."""

    def __init__(self, said: str) -> None:
        self.file = None if said == "1" else Path(said).resolve()
        self.seconds: dict[str, float] = {}
        self.fair: dict[str, bool] = {}
        self._own = self._shared = 0.0
        self._is_fair = True
        self._within = 0

    # --- where tests run ------------------------------------------------------------------------------

    @contextmanager
    def _measuring(self) -> Iterator[None]:
        started, modules, shared = used(), len(sys.modules), self._shared
        yield
        self._own += used() - started - (self._shared - shared)
        self._is_fair = self._is_fair and len(sys.modules) == modules

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self) -> Generator[None, None, None]:
        self._own, self._is_fair = 0.0, True
        with self._measuring():
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        try:
            with self._measuring():
                return (yield)
        finally:
            item.user_properties.append((_PROPERTY, (round(self._own, 4), self._is_fair)))

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef) -> Generator[None, object, object]:
        if fixturedef.scope == "function" or self._within:
            return (yield)
        started = used()
        self._within += 1
        try:
            return (yield)
        finally:
            self._within -= 1
            self._shared += used() - started

    # --- where pytest was started ---------------------------------------------------------------------

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            for seconds, fair in (value for name, value in report.user_properties if name == _PROPERTY):
                self.seconds[report.nodeid], self.fair[report.nodeid] = seconds, fair

    def too_slow(self) -> dict[str, float]:
        """Tests that are taken for quick and are not."""
        listed = slow_tests()
        return {
            name: seconds
            for name, seconds in self.seconds.items()
            if seconds > TOO_MUCH and self.fair[name] and function_of(name) not in listed and not is_attack(name)
        }

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workerinput"):
            return
        if self.file is not None:
            self.file.write_text("".join(f"{name}\t{seconds:.4f}\n" for name, seconds in sorted(self.seconds.items())))
        elif session.exitstatus == pytest.ExitCode.OK and self.too_slow():
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.file is None and (slow := self.too_slow()):
            terminalreporter.section("slow and not in tests/slow_tests.txt", red=True)
            for name, seconds in slow.items():
                terminalreporter.write_line(f"{name} used {seconds:.1f} s of the processor, more than {TOO_MUCH:g}")
            files = " ".join(sorted({name.partition("::")[0] for name in slow}))
            terminalreporter.write_line(f"make it quicker, or list it: python tools/mark_slow.py {files}")
