"""Installed packages that are not: folders on sys.path with the files by which Python knows a distribution."""

import sys
from pathlib import Path

import pytest


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a package of one module that offers entry points, until the test ends."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def installed(package: str, source: str, points: dict[str, dict[str, str]], version: str = "1.0") -> Path:
        module = tmp_path / f"{package}.py"
        module.write_text(source, encoding="utf-8")
        about = tmp_path / f"{package}-{version}.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
        lines = [
            f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in names.items())
            for group, names in points.items()
        ]
        (about / "entry_points.txt").write_text("\n".join(lines))
        monkeypatch.delitem(sys.modules, package, raising=False)
        return module

    return installed


@pytest.fixture
def own_names():
    """Forget what a test registers, or loads from its plug-ins."""
    from fedbary.data.datasets import DATASETS
    from fedbary_lab.baselines.clients import METHODS
    from fedbary_lab.baselines.row_methods import ROW_METHODS

    registries = (DATASETS, METHODS, ROW_METHODS)
    before = [set(registry.added) for registry in registries]
    yield
    for registry, names in zip(registries, before, strict=True):
        for name in set(registry.added) - names:
            registry.forget(name)
