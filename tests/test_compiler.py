"""The compiler of the shifted clock is found where there is one, and installed where there is none."""

import pytest

import compiler


def program(path):
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def test_a_compiler_on_the_path_is_used_and_else_one_is_installed(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    program(tmp_path / "apt-get")
    commands = []
    with pytest.raises(compiler.NoCompilerError, match="apt-get install gcc"):
        compiler.found_or_installed(lambda command: not commands.append(" ".join(command)), root=True)
    assert commands[-1].endswith("install -y --no-install-recommends gcc libc6-dev")
    path = program(tmp_path / "cc")
    assert compiler.found_or_installed(commands.append, root=True) == path
