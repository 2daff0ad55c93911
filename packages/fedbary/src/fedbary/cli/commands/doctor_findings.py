"""What `fedbary doctor` looks at; each look is quick, changes nothing and uses no network."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from importlib import util
from importlib.metadata import entry_points

from fedbary.deploy.network import Finding, package_finding, requirements, unmet, version
from fedbary.satellites import EXTRAS, is_missing

_LEAST_PYTHON = (3, 11)
_EXTRAS = {
    "torch": "a GPU, encoders",
    "privacy": "privacy accounting",
    "images": "charts as PNG or PDF",
}
_BRINGS = {
    "flower": "real federations",
    "nvflare": "real federations over NVIDIA FLARE",
    "lab": "comparisons and experiments",
}
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome", "firefox")
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def findings() -> list[Finding]:
    """Look at everything."""
    return [
        _python(),
        Finding("system", "ok", f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"),
        *_core(),
        *(package_finding("fedbary", purpose, extra) for extra, purpose in _EXTRAS.items()),
        *_packages(),
        _cache(),
        _browser(),
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
    for requirement in requirements("fedbary"):
        problem = unmet(requirement)
        words = problem or version(requirement.name) or ""
        remedy = f"pip install '{requirement.name}{requirement.specifier}'" if problem else ""
        yield Finding(requirement.name, "problem" if problem else "ok", words, remedy, needed=True)


def _cache() -> Finding:
    """Where encoded cells and fetched data sets are kept."""
    from fedbary.data.encoders.cache import cache_folder

    cache = cache_folder()
    nearest = next(folder for folder in (cache, *cache.parents) if folder.exists())
    if nearest.is_dir() and os.access(nearest, os.W_OK):
        return Finding("cache", "ok", f"{cache} can be written")
    remedy = "set XDG_CACHE_HOME to a folder of yours, or cells are encoded and data sets fetched again every time"
    return Finding("cache", "problem", f"{cache} cannot be written", remedy)


def _packages() -> Iterator[Finding]:
    """The other packages of this repository: what each finds of itself, or what to type to have it."""
    for package, extra in EXTRAS.items():
        if is_missing(package):
            words = f"{package.replace('_', '-')} ({_BRINGS[extra]})"
            yield Finding(f"extra {extra}", "missing", words, f"pip install 'fedbary[{extra}]'")
    for point in entry_points(group="fedbary.doctor"):
        try:
            yield from point.load()()
        except Exception as error:  # a stranger's code, which may fail in any way
            yield Finding(point.name, "problem", f"{type(error).__name__}: {error}", "correct or uninstall it")


def _browser() -> Finding:
    for name in _BROWSERS:
        path = shutil.which(name)
        if path:
            return Finding("browser", "ok", path)
    words = "none on the PATH (charts as PNG or PDF; --open)"
    return Finding("browser", "missing", words, "install chromium, or open report.html in any browser by hand")


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
