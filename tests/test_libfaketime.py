"""The library that sets a program's clock is found where there is one, and installed where there is none."""

import pytest

import libfaketime


def test_it_is_found_where_systems_put_it(tmp_path, monkeypatch):
    monkeypatch.delenv("FEDBARY_LIBFAKETIME", raising=False)
    with pytest.raises(libfaketime.NoLibfaketimeError, match="apt-get install libfaketime"):
        libfaketime.found(tmp_path)
    file = tmp_path / "usr/lib/x86_64-linux-gnu/faketime" / libfaketime.FILE
    file.parent.mkdir(parents=True)
    file.touch()
    assert libfaketime.found(tmp_path) == str(file)
    monkeypatch.setenv("FEDBARY_LIBFAKETIME", "/mine.so")
    assert libfaketime.found(tmp_path) == "/mine.so"


def test_it_is_installed_where_there_is_none(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("FEDBARY_LIBFAKETIME", "")
    monkeypatch.setattr(libfaketime, "PLACES", ("nowhere",))
    (tmp_path / "apt-get").write_text("#!/bin/sh\n")
    (tmp_path / "apt-get").chmod(0o755)
    commands = []
    with pytest.raises(libfaketime.NoLibfaketimeError):
        libfaketime.found_or_installed(lambda command: not commands.append(" ".join(command)), root=True)
    assert commands[-1].endswith("install -y --no-install-recommends libfaketime")
