"""What the commands of a federation ask of the network under it, and what a doctor has found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from fedbary.deploy.plan import Plan, read_plan
from fedbary.satellites import Registry, missing

if TYPE_CHECKING:
    from packaging.requirements import Requirement

    from fedbary.protocols.messages import Scalar


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


@dataclass(frozen=True)
class Step:
    """What somebody has to type next; ``where`` says who, and on which machine."""

    command: str
    where: str


@dataclass(frozen=True)
class Standing:
    """How a submitted run is doing, as the network says; ``why`` where it is over and the network gives a reason."""

    state: Literal["waiting", "running", "over", "unknown"]
    why: str = ""


class Network(Protocol):
    """What a package offers by an entry point of the group ``fedbary.networks``, called as the engine: a module.

    ``folder`` is the federation's, absolute. What cannot be done is a `FedbaryError` that says what to type.
    """

    def create(self, folder: Path, plan: Plan) -> Path:
        """Write a new federation, whole or not at all; refuse a folder that holds anything."""

    def steps(self, folder: Path, plan: Plan) -> Sequence[Step]:
        """From the new folder to the first run: what to type in turn, up to the nodes; the run itself comes after."""

    def status(self, folder: Path) -> dict[str, Any]:
        """How it is doing.

        ``certificates`` (expires, days_left), ``server`` (answers, problem), ``nodes`` (name, key, node_id, registered,
        status) and ``other_nodes``, which are of nobody in the folder (node_id, status, remedy).
        """

    def findings(self, folder: Path, plan: Plan, found: Mapping[str, Any]) -> Sequence[Finding]:
        """What only this network can look at, as its own files, keys and clocks; ``found`` is its status."""

    def next_step(self, folder: Path, plan: Plan, found: Mapping[str, Any]) -> Step | None:
        """What is missing for a run, going by ``status``; None where nothing is."""

    def submit(self, folder: Path, plan: Plan, app: Path | None, config: Mapping[str, Scalar]) -> str:
        """Start a run with this run config; returns the network's own id of it."""

    def standing(self, folder: Path, run: str) -> Standing:
        """How the run is doing."""

    def stop(self, folder: Path, run: str) -> bool:
        """End the run; returns whether it could be."""

    def run_keys(self, folder: Path, app: Path | None) -> Mapping[str, Scalar]:
        """What the run config may hold, with the defaults."""

    def add_nodes(self, folder: Path, plan: Plan, names: Sequence[str]) -> bool:
        """Give new nodes their folders; ``plan`` has them already. Returns whether the server lets them in by now."""

    def rotate(self, folder: Path, plan: Plan, nodes: Sequence[str], *, server: bool) -> Sequence[str]:
        """New keys of these nodes, and of the server; returns files, ``nodes/NAME/…``, that have to be sent again."""


NETWORKS: Registry[Network] = Registry("fedbary.networks", {}, lambda name, module: module)  # noqa: ARG005


def network(engine: str) -> Network:
    """The network of a plan's engine."""
    if engine not in NETWORKS:
        raise missing(f"fedbary_{engine}", f"a federation over {engine}")
    return NETWORKS[engine]


def opened(folder: str | Path) -> tuple[Path, Plan, Network]:
    """A federation's folder, absolute, its plan, and its network."""
    place = Path(folder).absolute()
    plan = read_plan(place)
    return place, plan, network(plan.engine)
