"""What `fedbary doctor` looks at; each look is quick, changes nothing and uses no network."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from importlib import metadata, util
from pathlib import Path
from typing import TYPE_CHECKING

from fedbary.cli.ui.findings import Finding

if TYPE_CHECKING:
    from packaging.requirements import Requirement

_LEAST_PYTHON = (3, 11)
_EXTRAS = {
    "flower": "real federations",
    "nvflare": "real federations over NVIDIA FLARE",
    "torch": "training: compare, boost; a GPU",
    "privacy": "privacy accounting",
    "compare": "other row methods",
    "images": "charts as PNG or PDF",
    "docs": "building the documentation",
}
# pyDVL 0.10 declares numpy<2 although it runs with numpy 2.
_PYDVL, _PYDVL_COMMAND = "pyDVL", "pip install --no-deps pyDVL==0.10.0"
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome", "firefox")
_QUIET_FLOWER = {"FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1", "RAY_USAGE_STATS_ENABLED": "0"}
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def findings() -> list[Finding]:
    """Look at everything.

    Examples
    --------
    >>> [finding.what for finding in findings()][:2]
    ['Python', 'system']
    """
    return [
        _python(),
        Finding("system", "ok", f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"),
        *_core(),
        *map(extra_finding, _EXTRAS),
        _pydvl(),
        *_data(),
        _browser(),
        *_flower(),
        _gpu(),
        _threads(),
    ]


def _python() -> Finding:
    words = f"{platform.python_version()} ({platform.python_implementation()})"
    if sys.version_info >= _LEAST_PYTHON:
        return Finding("Python", "ok", words, needed=True)
    return Finding("Python", "problem", words, "install Python 3.11 or newer", needed=True)


def _core() -> Iterator[Finding]:
    """Fedbary itself and the packages that it cannot do without."""
    from fedbary import __version__

    yield Finding("fedbary", "ok", __version__, needed=True)
    for requirement in _requirements(""):
        problem = _unmet(requirement)
        words = problem or _version(requirement.name) or ""
        remedy = f"pip install '{_name_and_range(requirement)}'" if problem else ""
        yield Finding(requirement.name, "problem" if problem else "ok", words, remedy, needed=True)


def extra_finding(extra: str) -> Finding:
    """Whether what an extra asks for is installed."""
    unmet = {requirement.name: _unmet(requirement) for requirement in _requirements(extra)}
    absent = [name for name in unmet if _version(name) is None]
    wrong = [problem for name, problem in unmet.items() if problem and name not in absent]
    command, purpose = f"pip install 'fedbary[{extra}]'", _EXTRAS[extra]
    if absent:
        return Finding(f"extra {extra}", "missing", f"{', '.join(absent)} ({purpose})", command)
    if wrong:
        return Finding(f"extra {extra}", "problem", f"{'; '.join(wrong)} ({purpose})", command)
    versions = [f"{name} {_version(name)}" for name in unmet]
    return Finding(f"extra {extra}", "ok", f"{', '.join(versions[:3])}{', …' if len(versions) > 3 else ''}")


def _pydvl() -> Finding:
    version = _version(_PYDVL)
    if version is None:
        words = "not installed (row methods of other people); it must come without its dependencies"
        return Finding(_PYDVL, "missing", words, _PYDVL_COMMAND)
    if not version.startswith("0.10."):
        return Finding(_PYDVL, "problem", f"{version}; fedbary speaks to 0.10", _PYDVL_COMMAND)
    return Finding(_PYDVL, "ok", version)


def _data() -> Iterator[Finding]:
    """The folders of the named data sets, and which of these are there."""
    if _version("numpy") is None or _version("pandas") is None:
        return
    from fedbary.data.datasets import describe
    from fedbary_lab.downloads import cache_folder

    known = describe()
    here, away = (known[known["available"] == there]["name"].tolist() for there in (True, False))
    named = os.environ.get("FEDBARY_DATA")
    if named and not Path(named).is_dir():
        remedy = "make the folder, or unset FEDBARY_DATA"
        yield Finding("FEDBARY_DATA", "problem", f"there is no folder '{named}'", remedy)
    if away:
        offline = os.environ.get("FEDBARY_OFFLINE") == "1"
        how = "put their files into a folder and set FEDBARY_DATA to it"
        remedy = how if offline else f"{how}, or let the first use fetch them from OpenML"
        yield Finding("data sets", "missing", f"here: {', '.join(here)}; not here: {', '.join(away)}", remedy)
    else:
        yield Finding("data sets", "ok", f"all {len(here)} are here")
    cache = cache_folder()
    nearest = next(folder for folder in (cache, *cache.parents) if folder.exists())
    if nearest.is_dir() and os.access(nearest, os.W_OK):
        yield Finding("cache", "ok", f"{cache} can be written")
    else:
        remedy = "set XDG_CACHE_HOME to a folder of yours, or data sets are fetched again every time"
        yield Finding("cache", "problem", f"{cache} cannot be written", remedy)


def _browser() -> Finding:
    for name in _BROWSERS:
        path = shutil.which(name)
        if path:
            return Finding("browser", "ok", path)
    words = "none on the PATH (charts as PNG or PDF; --open)"
    return Finding("browser", "missing", words, "install chromium, or open report.html in any browser by hand")


def _flower() -> Iterator[Finding]:
    version = _version("flwr")
    if version is None:
        return
    tested = next((one for one in _requirements("flower") if one.name == "flwr"), None)
    if tested is not None and not tested.specifier.contains(version, prereleases=True):
        remedy = "pip install 'fedbary[flower]'"
        yield Finding("Flower", "problem", f"flwr {version}; tested with flwr {tested.specifier}", remedy)
    else:
        yield Finding("Flower", "ok", f"flwr {version}, in the tested range")
    unset = [f"{name}={value}" for name, value in _QUIET_FLOWER.items() if os.environ.get(name) != value]
    if unset:
        words = "flwr commands that you type yourself call home; fedbary's own scripts do not"
        yield Finding("Flower telemetry", "missing", words, f"export {' '.join(unset)}")
    else:
        yield Finding("Flower telemetry", "ok", "off")


def _gpu() -> Finding:
    if util.find_spec("torch") is None:
        words = "PyTorch is not installed, through which large tables, encoders and training would use one"
        return Finding("GPU", "missing", words, "pip install 'fedbary[torch]'")
    import torch

    if not torch.cuda.is_available():
        words = f"none that PyTorch {torch.__version__} can use; everything runs on the CPU"
        return Finding("GPU", "missing", words)
    names = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    return Finding("GPU", "ok", f"{', '.join(names)}: used where it is faster (device=auto)")


def _threads() -> Finding:
    found = [f"{name}={os.environ[name]}" for name in _THREADS if name in os.environ]
    words = ", ".join(found) if found else "no variable is set; each run limits itself to one thread per worker"
    return Finding("threads", "ok", words)


def _requirements(extra: str) -> list[Requirement]:
    """What fedbary's own metadata asks for, with this extra or without any."""
    from packaging.requirements import Requirement

    found = []
    for line in metadata.requires("fedbary") or []:
        requirement = Requirement(line)
        marker = requirement.marker
        plain = marker is None or marker.evaluate({"extra": ""})
        if plain if not extra else (not plain and marker is not None and marker.evaluate({"extra": extra})):
            found.append(requirement)
    return found


def _unmet(requirement: Requirement) -> str:
    """What is wrong with an installed package, in words; nothing where it is as it should be."""
    version = _version(requirement.name)
    if version is None:
        return "not installed"
    if not requirement.specifier.contains(version, prereleases=True):
        return f"{requirement.name} {version}, but {requirement.specifier} is needed"
    return ""


def _name_and_range(requirement: Requirement) -> str:
    return f"{requirement.name}{requirement.specifier}"


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
