"""The wheel, installed outside the clone, runs the demo."""

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_the_wheel_runs_the_demo_outside_the_clone(tmp_path):
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True, timeout=100)
    (wheel,) = tmp_path.glob("fedbary-*.whl")

    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(install, check=True, capture_output=True, timeout=100)
    # Dependencies come from the environment of the tests: a path, so that its editable fedbary stays out.
    (site,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")

    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    where = "import fedbary; print(fedbary.__file__)"
    found = subprocess.run([python, "-c", where], cwd=tmp_path, env=clean, capture_output=True, text=True, check=True)
    assert Path(found.stdout.strip()).is_relative_to(tmp_path / "venv")

    command = [tmp_path / "venv" / "bin" / "fedbary", "demo"]
    demo = subprocess.run(command, cwd=tmp_path, env=clean, capture_output=True, text=True, timeout=110, check=False)
    assert demo.returncode == 0, demo.stdout + demo.stderr
    assert (tmp_path / "fedbary-demo" / "report.html").stat().st_size > 5000
    assert (tmp_path / "fedbary-demo" / "clients.csv").is_file()
