"""Common misspellings, in everything that people read: pages, docstrings, messages, templates."""

import subprocess
import sys

from page_blocks import ROOT

# Words that codespell takes for others: optimal transport (ot), a misspelling that a test or an example is about.
OURS = "ot,lable,te,ba,hist"
READ = [
    "README.md",
    "CHANGELOG.md",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs",
    "examples",
    "benchmarks",
]
READ += [str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("packages/*/*")) if path.name in ("README.md", "src")]


def test_no_common_misspelling():
    command = [sys.executable, "-m", "codespell_lib", "--ignore-words-list", OURS, "--skip", "*.png,*.parquet,*.csv"]
    done = subprocess.run([*command, *READ], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
