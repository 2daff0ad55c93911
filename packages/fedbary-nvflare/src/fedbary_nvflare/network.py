"""NVIDIA FLARE as the network of a federation: what `fedbary.deploy.network.Network` asks for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import Any

from fedbary.deploy.network import Finding, Standing, Step, package_finding
from fedbary.deploy.plan import Plan, expiry, read_plan
from fedbary.deploy.runs import RUN_KEYS
from fedbary.engines.coordinator import RunConfig
from fedbary.errors import DataError, SettingsError
from fedbary.protocols.messages import Scalar
from fedbary_nvflare.control import NoAnswer, flare
from fedbary_nvflare.setup import add_nodes, create, rotate

__all__ = [
    "add_nodes",
    "create",
    "findings",
    "next_step",
    "rotate",
    "run_keys",
    "standing",
    "status",
    "steps",
    "stop",
    "submit",
]

_STATES = {"SUBMITTED": "waiting", "APPROVED": "waiting", "DISPATCHED": "waiting", "RUNNING": "running"}


def steps(folder: Path, plan: Plan) -> list[Step]:
    """The server, and a site at each owner."""
    return [_server(folder), *(_site(folder, name) for name in plan.nodes)]


def next_step(folder: Path, plan: Plan, found: Mapping[str, Any]) -> Step | None:  # noqa: ARG001 - as all
    """The first of the steps that has not been taken."""
    if not found["server"]["answers"]:
        return _server(folder)
    return next((_site(folder, node["name"]) for node in found["nodes"] if node["status"] != "online"), None)


def _server(folder: Path) -> Step:
    return Step(quote(str(folder / "server" / "server.sh")), "on the server, left running")


def _site(folder: Path, name: str) -> Step:
    script = quote(str(folder / "nodes" / name / "startup" / "start.sh"))
    where = f"by {name}, with nodes/{name} on their own machine, once local/fedbary.toml names their table"
    return Step(script, where)


def status(folder: Path) -> dict[str, Any]:
    """How the federation is doing; the same facts as of one on Flower."""
    folder = Path(folder).absolute()
    plan = read_plan(folder)
    problem, there = None, set[str]()
    try:
        there = set(flare(folder, plan, "online"))
    except NoAnswer as why:
        problem = str(why)
    known = "unknown" if problem else "offline"
    nodes = [
        {
            "name": name,
            "key": _key_state(folder / "nodes" / name / "startup"),
            "node_id": name,
            "registered": True,  # the certificate says so, to every server of the federation
            "status": "online" if name in there else known,
        }
        for name in plan.nodes
    ]
    startup = folder / "server" / "startup"
    return {
        "folder": str(folder),
        "engine": plan.engine,
        "address": plan.address,
        "certificates": {"ca": expiry(startup / "rootCA.pem"), "server": expiry(startup / "server.crt")},
        "server": {"answers": problem is None, "problem": problem},
        "nodes": nodes,
        "other_nodes": [
            {"node_id": name, "status": "online", "remedy": ""} for name in sorted(there - set(plan.nodes))
        ],
    }


def _key_state(startup: Path) -> str:
    """The private key may be gone, once its owner has it."""
    if (startup / "client.key").is_file():
        return "pair"
    return "public" if (startup / "client.crt").is_file() else "none"


def findings(folder: Path, plan: Plan, found: Mapping[str, Any]) -> list[Finding]:  # noqa: ARG001 - as all
    """FLARE itself; its kits hold nothing that could not fit together."""
    return [package_finding("fedbary-nvflare", "real federations over NVIDIA FLARE", needed=True)]


def run_keys(folder: Path, app: Path | None) -> Mapping[str, Scalar]:  # noqa: ARG001 - as all
    """The same as of a run on Flower, which alone trains afterwards."""
    _refuse_app(app)
    return {key: default for key, default in RUN_KEYS.items() if key != "train-rounds"}


def _refuse_app(app: Path | None) -> None:
    if app is not None:
        raise SettingsError("deploy.flare-has-no-apps", folder=str(app))


def submit(folder: Path, plan: Plan, app: Path | None, config: Mapping[str, Scalar]) -> str:
    """Send the job to the sites that are connected; FLARE takes nobody into a job that has begun, so wait for all.

    Those of ``nodes`` (default: of the plan) that have not come by ``join-deadline`` are not asked.
    """
    _refuse_app(app)
    attendance = RunConfig.of(config).attendance
    wanted = list(attendance.expected or plan.nodes)
    facts = {"config": dict(config), "wanted": wanted, "seconds": attendance.deadline}
    try:
        return str(flare(folder, plan, "submit", facts, patience=attendance.deadline))
    except NoAnswer as why:
        raise DataError("deploy.not-submitted", why=str(why)) from None


def standing(folder: Path, run: str) -> Standing:
    """As FLARE's console says; where a job could not be deployed, with what the sites said."""
    try:
        said = flare(folder, read_plan(folder), "job", {"run": run})
    except NoAnswer:
        return Standing("unknown")
    found, _, how = said["status"].partition(":")
    if found in _STATES:
        return Standing(_STATES[found])  # type: ignore[arg-type]
    why = "" if how == "COMPLETED" else said["why"] or how.replace("_", " ").lower()
    return Standing("over", why) if found == "FINISHED" else Standing("unknown")


def stop(folder: Path, run: str) -> bool:
    """As ``abort_job`` of FLARE's console does."""
    try:
        flare(folder, read_plan(folder), "abort", {"run": run})
    except NoAnswer:
        return False
    return True
