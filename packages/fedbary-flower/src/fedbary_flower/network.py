"""Flower as the network of a federation: what `fedbary.deploy.network.Network` asks for."""

from __future__ import annotations

import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import Any

from fedbary.deploy.network import Standing, Step
from fedbary.deploy.plan import Plan
from fedbary.errors import DataError, SettingsError
from fedbary.protocols.messages import Scalar
from fedbary_flower.app_project import run_config_text
from fedbary_flower.control import NoAnswer, flwr, last_words
from fedbary_flower.inspection import findings
from fedbary_flower.keys import add_nodes, rotate
from fedbary_flower.scripts import CONNECTION
from fedbary_flower.setup import create
from fedbary_flower.status import status

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

_LONGEST_SUBMISSION = 180.0
_STATES = {"pending": "waiting", "starting": "waiting", "running": "running", "finished": "over"}


def steps(folder: Path, plan: Plan) -> list[Step]:
    """The server, the keys it lets in, and a node at each owner."""
    return [_server(folder), _register(folder), *(_node(folder, name) for name in plan.nodes)]


def next_step(folder: Path, plan: Plan, found: Mapping[str, Any]) -> Step | None:
    """The first of the steps that has not been taken."""
    if not found["server"]["answers"]:
        return _server(folder)
    unknown = [node["name"] for node in found["nodes"] if node["registered"] is False]
    if unknown:
        return _register(folder, *([] if len(unknown) == len(plan.nodes) else unknown))
    return next((_node(folder, node["name"]) for node in found["nodes"] if node["status"] != "online"), None)


def _server(folder: Path) -> Step:
    return Step(quote(str(folder / "server.sh")), "on the server, left running")


def _register(folder: Path, *names: str) -> Step:
    return Step(" ".join([quote(str(folder / "register.sh")), *names]), "while the server runs")


def _node(folder: Path, name: str) -> Step:
    script = quote(str(folder / "nodes" / name / f"node-{name}.sh"))
    return Step(f"{script} DATA-FILE 'label=\"COLUMN\"'", f"by {name}, with nodes/{name} on their own machine")


def run_keys(folder: Path, app: Path | None) -> Mapping[str, Scalar]:
    """What stands in the app's own table."""
    file = _app(folder, app) / "pyproject.toml"
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))["tool"]["flwr"]["app"]
    except OSError:
        raise SettingsError("deploy.no-app", folder=str(file.parent)) from None
    except (KeyError, TypeError, ValueError) as error:
        raise DataError("deploy.app-damaged", file=str(file), why=str(error)) from error
    return dict(found.get("config", {}))


def _app(folder: Path, app: Path | None) -> Path:
    return (folder / "app" if app is None else app).absolute()


def submit(folder: Path, plan: Plan, app: Path | None, config: Mapping[str, Scalar]) -> str:  # noqa: ARG001 - as all
    """As ``flwr run --run-config`` does."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml", encoding="utf-8") as file:
        file.write(run_config_text(config))
        file.flush()
        try:
            words = ("run", str(_app(folder, app)), CONNECTION, "--run-config", file.name)
            # Given up too early, a run would go on that nobody waits for.
            answer = flwr(folder, *words, seconds=_LONGEST_SUBMISSION)
            return str(answer["run-id"])
        except NoAnswer as why:
            raise DataError("deploy.not-submitted", why=str(why)) from None


def standing(folder: Path, run: str) -> Standing:
    """As ``flwr list`` says; where a run has failed, with the last line of its log."""
    try:
        (found,) = flwr(folder, "list", CONNECTION, "--run-id", run)["runs"]
        state, _, how = str(found["status"]).partition(":")
    except (NoAnswer, KeyError, TypeError, ValueError):
        return Standing("unknown")
    why = "" if how in ("", "completed") else last_words(folder, run) or str(found.get("status-details", "")) or how
    return Standing(_STATES.get(state, "unknown"), why)  # type: ignore[arg-type]


def stop(folder: Path, run: str) -> bool:
    """As ``flwr stop`` does."""
    try:
        flwr(folder, "stop", run, CONNECTION)
    except NoAnswer:
        return False
    return True
