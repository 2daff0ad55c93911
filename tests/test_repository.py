"""The house is in order: layers, lint and types hold, and what the README promises exists."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def run(*command):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=110, check=False)


@pytest.mark.parametrize(
    "command",
    [
        ("ruff", "check", "src", "tests", "benchmarks", "tools", "examples"),
        ("ruff", "format", "--check", "src", "tests", "benchmarks", "tools", "examples"),
        ("mypy",),
        ("lint-imports",),
    ],
    ids=["lint", "format", "types", "layers"],
)
def test_static_checks_pass(command):
    done = run(str(Path(sys.executable).parent / command[0]), *command[1:])
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_version_is_the_same_everywhere():
    import fedbary

    files = [(ROOT / "pyproject.toml").read_text(), (ROOT / "CITATION.cff").read_text()]
    assert all(re.search(rf'^version[:=\s"]+{re.escape(fedbary.__version__)}"?$', text, re.M) for text in files)


def test_the_readme_starts_with_the_two_commands():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"```\w*\n(.*?)```", text, re.S).group(1)
    assert re.findall(r"^make \w+", block, re.M) == ["make demo", "make test"]
