"""The browser of the report tests is found where there is one, and installed where there is none."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import chromium

ROOT = Path(__file__).resolve().parent.parent


def program(path, lines="exit 0"):
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{lines}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """A machine without any browser; its PATH is one folder."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "downloads"))
    monkeypatch.delenv("FEDBARY_CHROMIUM", raising=False)
    return folder


class Runner:
    """Runs nothing, remembers what it was asked for, and lets a program appear when one command has run."""

    def __init__(self, installs="nothing", at=None, refuses="nothing"):
        self.commands, self.installs, self.at, self.refuses = [], installs, at, refuses

    def __call__(self, command):
        text = " ".join(command)
        self.commands.append(text)
        if self.installs in text:
            program(self.at)
        return self.refuses not in text


def test_the_named_browser_comes_first_and_must_start(bare, tmp_path, monkeypatch):
    program(bare / "chromium")
    mine = program(tmp_path / "mine")
    monkeypatch.setenv("FEDBARY_CHROMIUM", mine)
    assert chromium.found() == mine
    monkeypatch.setenv("FEDBARY_CHROMIUM", str(tmp_path / "gone"))
    with pytest.raises(chromium.NoChromiumError, match=r"FEDBARY_CHROMIUM is '.*gone', which does not start"):
        chromium.found_or_installed(Runner(), root=True)


@pytest.mark.parametrize("name", chromium.NAMES)
def test_a_browser_on_the_path_is_used_and_nothing_is_installed(bare, name):
    path, runner = program(bare / name), Runner()
    assert chromium.found_or_installed(runner, root=True) == chromium.found() == path
    assert runner.commands == []


def test_what_only_looks_like_a_browser_is_passed_over(bare):
    program(bare / "chromium-browser", "echo install the snap >&2; exit 1")
    real = program(bare / "google-chrome")
    assert chromium.found() == real


@pytest.mark.parametrize(("root", "may"), [(True, ""), (False, "sudo -n ")], ids=["root", "sudo"])
def test_the_system_s_packages_come_next(bare, root, may):
    program(bare / "apt-get")
    program(bare / "sudo")
    runner = Runner("install -y", bare / "chromium")
    assert chromium.found_or_installed(runner, root=root) == str(bare / "chromium")
    assert [line for line in runner.commands if not line.endswith("true")] == [
        f"{may}env DEBIAN_FRONTEND=noninteractive apt-get -qq update",
        f"{may}env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "
        "chromium fontconfig fonts-noto-core",
    ]


@pytest.mark.parametrize("tools", [[], ["apt-get"], ["apt-get", "sudo"]], ids=["no apt-get", "no sudo", "a password"])
def test_else_playwright_downloads_its_own(bare, tools):
    for name in tools:
        program(bare / name)
    runner = Runner("playwright install chromium", bare / "chromium", refuses="sudo -n true")
    assert chromium.found_or_installed(runner, root=False) == str(bare / "chromium")
    assert not any("apt-get" in line for line in runner.commands)


def test_playwright_s_own_is_found(bare):
    pytest.importorskip("playwright")
    asked = subprocess.run([sys.executable, "-c", chromium.PLAYWRIGHTS_OWN], capture_output=True, text=True, check=True)
    path = Path(asked.stdout.strip())
    assert path.is_relative_to(os.environ["PLAYWRIGHT_BROWSERS_PATH"])
    path.parent.mkdir(parents=True)
    program(path)
    assert chromium.found() == str(path)


def test_else_one_sentence_says_what_to_type(bare):
    with pytest.raises(chromium.NoChromiumError, match="run 'apt-get install chromium' as root") as caught:
        chromium.found_or_installed(Runner(), root=True)
    assert str(caught.value).count("\n") == 0


def test_the_script_prints_the_path_alone_or_fails_with_the_sentence(bare, tmp_path, monkeypatch):
    def run():
        command = [sys.executable, ROOT / "tools" / "chromium.py"]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    monkeypatch.setenv("FEDBARY_CHROMIUM", program(tmp_path / "mine"))
    done = run()
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{tmp_path / 'mine'}\n", "")
    monkeypatch.setenv("FEDBARY_CHROMIUM", "/no/such/program")
    done = run()
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
