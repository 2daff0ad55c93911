"""Which tests are slow, by measurement: `make check` leaves them out, `make test` runs them.

``python tools/mark_slow.py`` runs the tests of `make test` and writes ``tests/slow_tests.txt``: functions that take
longer than 0.4 s with all their cases, attacks excepted. Run it on a machine that does nothing else; ``--from FILE``
reads a JUnit report instead.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
LIST = ROOT / "tests" / "slow_tests.txt"
LIMIT = 0.4
# `make check` plays every attack that once succeeded, whatever it takes.
ATTACKS = (
    "packages/fedbary-flower/tests/test_node_names.py",
    "packages/fedbary/tests/guard/",
    "packages/fedbary/tests/protocols/test_hostile_replies.py",
    "packages/fedbary/tests/protocols/test_message_digest.py",
    "packages/fedbary/tests/protocols/test_sketch_attacks.py",
    "packages/fedbary/tests/protocols/test_sketch_private.py",
    "packages/fedbary/tests/test_foreign_text.py",
    "packages/fedbary/tests/test_fuzz.py",
)


def seconds(report: Path) -> dict[str, float]:
    """Time of each test function, all its cases together, by ``file::name``."""
    found: dict[str, float] = defaultdict(float)
    for case in ElementTree.parse(report).iter("testcase"):
        module, name = case.get("classname", ""), case.get("name", "").partition("[")[0]
        found[f"{module.replace('.', '/')}.py::{name}"] += float(case.get("time", 0.0))
    return dict(found)


def main() -> None:
    """Measure, or read a measurement, and write the list."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", dest="report", type=Path)
    report = parser.parse_args().report
    if report is None:
        report = Path(tempfile.mkdtemp()) / "tests.xml"
        options = ["-q", "-n", "2", "--dist", "loadgroup", "-m", "not federation", f"--junitxml={report}"]
        subprocess.run([sys.executable, "-m", "pytest", *options, "tests"], cwd=ROOT, check=False)
    slow = sorted(name for name, time in seconds(report).items() if time > LIMIT and not name.startswith(ATTACKS))
    LIST.write_text("".join(f"{name}\n" for name in slow), encoding="utf-8")
    sys.stdout.write(f"{len(slow)} of {len(seconds(report))} test functions take more than {LIMIT:g} s\n")


if __name__ == "__main__":
    main()
