"""A new federation on Flower as a folder: certificates, keys and scripts that start it."""

from __future__ import annotations

from pathlib import Path

from fedbary.deploy.plan import PROGRAM, PUBLIC, SECRET, SETTINGS, File, Plan, new_folder, plan_text, put
from fedbary_flower import scripts
from fedbary_flower.app_project import app_project
from fedbary_flower.certificates import authority, key_pair, pem, server_certificate


def create(folder: str | Path, plan: Plan) -> Path:
    """Write a new federation; nothing of an existing one is touched, and nothing is left behind if it fails.

    Returns
    -------
    Path
        The folder, absolute.
    """

    def fill(draft: Path, target: Path) -> None:
        for path, (text, mode) in _files(plan, target).items():
            put(draft / path, text, mode)

    return new_folder(folder, fill)


def _files(plan: Plan, target: Path) -> dict[str, File]:
    """Every file of a new federation."""
    signer, ca = authority(plan.days)
    key, certificate = server_certificate(plan, signer, ca)
    files = plan_files(plan, target) | {
        "server.sh": (scripts.filled(scripts.SERVER, plan, target), PROGRAM),
        "run.sh": (scripts.filled(scripts.RUN, plan, target), PROGRAM),
        "app/pyproject.toml": (app_project(), PUBLIC),
        "flwr/config.toml": (scripts.filled(scripts.CONFIG, plan, target), SECRET),
        "ca/ca.key": (pem(signer), SECRET),
        "ca/ca.crt": (pem(ca), PUBLIC),
        "server/server.key": (pem(key), SECRET),
        "server/server.pem": (pem(certificate), PUBLIC),
    }
    for name in plan.nodes:
        private, public = key_pair(name)
        pair: dict[str, File] = {
            f"nodes/{name}/key": (private, SECRET),
            f"nodes/{name}/key.pub": (public, PUBLIC),
        }
        files |= node_files(plan, target, name, pem(ca)) | pair
    return files


def plan_files(plan: Plan, target: Path) -> dict[str, File]:
    """The files that name the nodes, the plan itself last."""
    return {
        "README.md": (scripts.filled(scripts.README, plan, target), PUBLIC),
        "register.sh": (scripts.filled(scripts.REGISTER, plan, target), PROGRAM),
        SETTINGS: (plan_text(plan), PUBLIC),
    }


def node_files(plan: Plan, target: Path, name: str, ca: bytes) -> dict[str, File]:
    """A node's folder, but for its keys."""
    return {
        f"nodes/{name}/ca.crt": (ca, PUBLIC),
        f"nodes/{name}/node-{name}.sh": (scripts.filled(scripts.NODE, plan, target, name), PROGRAM),
        f"nodes/{name}/README.md": (scripts.filled(scripts.NODE_README, plan, target, name), PUBLIC),
        f"nodes/{name}/Containerfile": (scripts.filled(scripts.CONTAINER, plan, target, name), PUBLIC),
    }
