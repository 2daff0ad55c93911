"""What a doctor has found: one line each, with the remedy to type; and whether a package has what it needs."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from packaging.requirements import Requirement


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at; ``needed`` where nothing works without it."""

    what: str
    state: Literal["ok", "missing", "problem"]
    words: str
    remedy: str = ""
    needed: bool = False


def package_finding(package: str, purpose: str, extra: str = "", *, needed: bool = False) -> Finding:
    """Whether what an installed package, or an extra of it, asks for is installed."""
    wanted = {requirement.name: unmet(requirement) for requirement in requirements(package, extra)}
    absent = [name for name in wanted if version(name) is None]
    wrong = [problem for name, problem in wanted.items() if problem and name not in absent]
    what, command = (
        (f"extra {extra}", f"pip install '{package}[{extra}]'") if extra else (package, f"pip install {package}")
    )
    if absent:
        state: Literal["missing", "problem"] = "problem" if needed else "missing"
        return Finding(what, state, f"{', '.join(absent)} ({purpose})", command, needed)
    if wrong:
        return Finding(what, "problem", f"{'; '.join(wrong)} ({purpose})", command, needed)
    versions = [f"{name} {version(name)}" for name in wanted]
    return Finding(what, "ok", f"{', '.join(versions[:3])}{', …' if len(versions) > 3 else ''}", needed=needed)


def requirements(package: str, extra: str = "") -> list[Requirement]:
    """What an installed package's own metadata asks for, with this extra or without any."""
    from packaging.requirements import Requirement

    found = []
    for line in metadata.requires(package) or []:
        requirement = Requirement(line)
        marker = requirement.marker
        plain = marker is None or marker.evaluate({"extra": ""})
        if plain if not extra else (not plain and marker is not None and marker.evaluate({"extra": extra})):
            found.append(requirement)
    return found


def unmet(requirement: Requirement) -> str:
    """What is wrong with an installed package, in words; nothing where it is as it should be."""
    found = version(requirement.name)
    if found is None:
        return "not installed"
    if not requirement.specifier.contains(found, prereleases=True):
        return f"{requirement.name} {found}, but {requirement.specifier} is needed"
    return ""


def version(name: str) -> str | None:
    """The version of an installed package."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
