"""Completion in shells: the scripts, and the names that are offered."""

import os
import shutil
import subprocess
import sys

import pytest
from cli_fixtures import FEDBARY
from shells import offered

from fedbary.cli.ui.options import comma_separated, several_of

pytest_plugins = ["cli_fixtures"]


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("fedbary val", ["value"]),
        ("fedbary policy ch", ["check"]),
        ("fedbary value --protocol s", ["sketch"]),
    ],
)
def test_bash_is_offered_names(tmp_path, line, names):
    assert offered(line, tmp_path) == names


def test_lists_with_commas():
    assert several_of("gtg", "mr")("mr,") == ["mr,gtg"]
    assert comma_separated("gtg, mr,") == ["gtg", "mr"]


def test_clients_of_a_result_folder_are_offered(fedbary, sites, tmp_path):
    (sites / "north.csv").rename(sites / "north\x1b[31m.csv")
    (sites / "south-west.csv").write_bytes((sites / "south.csv").read_bytes())
    assert fedbary("value", sites, "--label", "ill", "--id", "id", "--protocol", "interpolation", "-o", "out")[0] == 0
    assert offered("fedbary rows out --client sou", tmp_path) == ["south", "south-west"]
    assert not any("\x1b" in name for name in offered("fedbary rows out --client ", tmp_path))
    assert offered("fedbary rows nowhere --client s", tmp_path) == []


def test_completion_imports_nothing_heavy(tmp_path):
    code = (
        "import os, sys\n"
        "os.environ |= dict(_FEDBARY_COMPLETE='complete_bash', COMP_WORDS='fedbary value --pro', COMP_CWORD='2')\n"
        "from fedbary.cli import main\nmain([])\n"
        "sys.exit(sum(name in sys.modules for name in ('numpy', 'pandas', 'scipy', 'sklearn', 'torch', 'ot')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).returncode == 0


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_a_real_bash_completes(tmp_path):
    """The script that `--show-completion` prints, sourced and asked as bash asks it."""
    script = subprocess.run(
        [FEDBARY, "--show-completion", "bash"],
        env=os.environ | {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    asked = f"""PATH={FEDBARY.parent}:$PATH
{script}
COMP_WORDS=(fedbary value --protocol ca) COMP_CWORD=3
$(complete -p fedbary | sed 's/.*-F \\([^ ]*\\).*/\\1/') fedbary ca --protocol
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(["bash", "-c", asked], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["cards"]
