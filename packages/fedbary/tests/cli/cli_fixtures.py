"""A folder of small clients, and the command line run in this process or as a real one."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fedbary.cli.ui.session import Session, one_line
from fedbary.errors import FedbaryError
from fedbary.filling import COMMAND

FEDBARY = Path(sys.executable).with_name("fedbary")


def people(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    ill = rng.random(rows) < 0.5
    return pd.DataFrame(
        {
            "id": [f"p{i}" for i in range(rows)],
            "age": np.round(rng.normal(40 + 10 * ill, 8), 3),
            "city": rng.choice(["Bern", "Oslo"], rows),
            "ill": np.where(ill, "yes", "no"),
        }
    )


@pytest.fixture
def sites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Clients north and south in a folder, a reference beside it; commands run where they lie."""
    folder = tmp_path / "sites"
    folder.mkdir()
    people(40, seed=1).to_csv(folder / "north.csv", index=False)
    people(50, seed=2).to_csv(folder / "south.csv", index=False)
    people(60, seed=3).to_csv(tmp_path / "reference.csv", index=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return folder


@pytest.fixture
def spoil(sites: Path) -> Callable[..., Path]:
    """Write a client after changing its frame."""

    def write(name: str, change: Callable[[pd.DataFrame], pd.DataFrame], rows: int = 30) -> Path:
        path = sites / f"{name}.csv"
        change(people(rows, seed=9)).to_csv(path, index=False)
        return path

    return write


@pytest.fixture
def fedbary(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run a command in this process: exit code, standard output, standard error."""
    from fedbary.cli import main

    def run(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def refused(
    fedbary: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., FedbaryError]:
    """Run a command that ends as bad input, with one sentence on standard error; the error behind it.

    Standard output is empty, or has the words that the command ``says`` before it ends, and none that it ``hides``.
    """
    from fedbary.cli import app

    caught: list[BaseException] = []
    explain = app._explain

    def catch(error: BaseException, session: Session) -> int:
        caught.append(error)
        return explain(error, session)

    monkeypatch.setattr(app, "_explain", catch)

    def run(*arguments: object, says: str = "", hides: str = "") -> FedbaryError:
        code, out, err = fedbary(*arguments)
        assert says in out if says or hides else out == ""
        assert not hides or hides not in out
        error = caught.pop()
        assert isinstance(error, FedbaryError), error
        assert (code, err) == (2, f"error: {one_line(error.note.text(COMMAND))}\n")
        return error

    return run


@pytest.fixture
def shell(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the installed command as a user does."""

    def run(*arguments: object, columns: int = 80) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [FEDBARY, *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": str(columns)},
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=600,
            check=False,
        )

    return run


@pytest.fixture
def parsed(fedbary):
    """Run a command with --json and read what it printed, strictly."""

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    def run(*arguments, code=0):
        found, out, err = fedbary(*arguments, "--json")
        assert (found, err) == (code, "")
        return json.loads(out, parse_constant=refuse)

    return run
