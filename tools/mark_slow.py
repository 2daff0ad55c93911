"""Which tests are slow, by measurement: `make check` leaves them out, `make test` runs them.

``python tools/mark_slow.py`` runs all tests but real federations and writes ``tests/slow_tests.txt``: functions that
use more than 0.05 s of the processor with all their cases, attacks excepted. Given files or folders of tests, it runs
those and leaves what the list says of others; ``--from FILE`` reads what a run with ``FEDBARY_MEASURE=FILE`` has
written.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from measured import LIST, ROOT, SLOW, function_of, is_attack, slow_tests


def functions(measurement: Path) -> dict[str, float]:
    """Seconds of each test function, all its cases together, by ``file::name``."""
    found: dict[str, float] = defaultdict(float)
    for line in measurement.read_text(encoding="utf-8").splitlines():
        name, _, seconds = line.rpartition("\t")
        found[function_of(name)] += float(seconds)
    return dict(found)


def measured(tests: list[str]) -> Path:
    """Run tests, and say where their seconds are written."""
    file = Path(tempfile.mkdtemp()) / "seconds.tsv"
    options = ["-q", "-n", "2", "--dist", "loadgroup", "-m", "not federation"]
    environment = os.environ | {"FEDBARY_MEASURE": str(file)}
    subprocess.run([sys.executable, "-m", "pytest", *options, *tests], cwd=ROOT, env=environment, check=False)
    return file


def is_there(name: str) -> bool:
    """Whether a function of the list still stands in its file."""
    file, _, function = name.partition("::")
    words = re.split(r"\W+", (ROOT / file).read_text(encoding="utf-8")) if (ROOT / file).is_file() else []
    return re.split(r"\W+", function)[-1] in words


def main() -> None:
    """Measure, or read a measurement, and write the list."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tests", nargs="*", help="files or folders of tests; all where none is given")
    parser.add_argument("--from", dest="measurement", type=Path)
    given = parser.parse_args()
    found = functions(given.measurement or measured(given.tests))
    slow = {name for name, seconds in found.items() if seconds > SLOW and not is_attack(name)}
    # Of those that were not run, or failed, what was known before stays.
    kept = {name for name in slow_tests() - found.keys() if is_there(name)}
    LIST.write_text("".join(f"{name}\n" for name in sorted(slow | kept)), encoding="utf-8")
    sys.stdout.write(f"{len(slow)} of {len(found)} test functions use more than {SLOW:g} s of the processor\n")


if __name__ == "__main__":
    main()
