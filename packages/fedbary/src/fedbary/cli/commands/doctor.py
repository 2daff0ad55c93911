"""`fedbary doctor`: what is installed, what is missing, and what to type; each look is quick and changes nothing."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from importlib import util
from importlib.metadata import entry_points

from fedbary.cli.ui.command import command
from fedbary.cli.ui.session import one_line
from fedbary.deploy.network import Finding, package_finding, requirements, unmet, version
from fedbary.satellites import EXTRAS, is_missing
from fedbary.views.page import HEADING, Cell, Grid, Line, Page, Part
from fedbary.wording import counted

BROKEN = 2
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
_NO_BROWSER = Finding(
    "browser",
    "missing",
    "none on the PATH (charts as PNG or PDF; --open)",
    "install chromium, or open report.html in any browser by hand",
)
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_LOOKS = {"ok": "green", "missing": "yellow", "problem": "red"}


@command("fedbary doctor")
def doctor() -> Page:
    """Look at this installation: versions, extras, data folder, browser, Flower, GPU and threads.

    Every line is ok, missing (an extra that you may not need) or a problem, with the remedy. Nothing is changed, and
    the network is not used. Exit code 2: something that fedbary cannot do without is broken.
    """
    return findings_page(findings())


def findings_page(found: Sequence[Finding], *, commands: bool = False) -> Page:
    """What was found, one line each, with remedies to type: advice, or ``commands``, which stay on one line."""
    healthy = not any(finding.state == "problem" and finding.needed for finding in found)
    rows = [(finding.what, Cell(finding.state, _LOOKS[finding.state]), finding.words) for finding in found]
    parts: list[Part] = [Grid(("what", "state", "found"), rows)]
    remedies = [finding for finding in found if finding.remedy]
    parts += ["", Line("Remedies", HEADING)] if remedies else []
    for finding in remedies:
        words = one_line(finding.remedy)
        parts.append(Line(f"  # {finding.what}", "dim"))
        parts.append(Line(f"  {words}", whole=True) if commands else Line(words, indent=2))
    problems = sum(finding.state == "problem" for finding in found)
    parts += ["", f"{counted(problems, 'problem')}." if problems else "No problem was found."]
    data = {"healthy": healthy, "findings": [asdict(finding) for finding in found]}
    return Page(parts, data, 0 if healthy else BROKEN)


def findings() -> list[Finding]:
    """Look at everything."""
    python = f"{platform.python_version()} ({platform.python_implementation()})"
    old = sys.version_info < _LEAST_PYTHON
    newer = "install Python 3.11 or newer" if old else ""
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    threads = ", ".join(f"{name}={os.environ[name]}" for name in _THREADS if name in os.environ)
    return [
        Finding("Python", "problem" if old else "ok", python, newer, needed=True),
        Finding("system", "ok", f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"),
        *_core(),
        *(package_finding("fedbary", purpose, extra) for extra, purpose in _EXTRAS.items()),
        *_packages(),
        _cache(),
        Finding("browser", "ok", browser) if browser else _NO_BROWSER,
        _gpu(),
        Finding("threads", "ok", threads or "no variable is set; each run limits itself to one thread per worker"),
    ]


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
    from fedbary.data.encoders import cache_folder

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
