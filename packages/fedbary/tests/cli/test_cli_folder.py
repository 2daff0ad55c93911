"""Files of the folder in which a command is typed are no modules."""

import subprocess
import sys

import pytest

FEDBARY = "from fedbary.cli import main; raise SystemExit(main())"


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (("-P", "-m", "fedbary"), ("fedbary", "json", "numpy", "typer", "rich", "runpy")),
        (("-m", "fedbary"), ("json", "numpy", "typer", "rich")),  # Python itself looks here for the package
        (("-c", FEDBARY), ("json", "numpy", "typer", "rich")),
    ],
)
def test_nothing_here_is_imported(tmp_path, options, names):
    for name in names:
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('{name} of this folder')")
    (tmp_path / "t.csv").write_text("a,label\n" + "".join(f"{row * row % 97}.5,{'xy'[row % 2]}\n" for row in range(60)))
    command = [sys.executable, *options, "check", "t.csv", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "of this folder" not in done.stdout
