"""A new federation on Flower as a folder: certificates, keys and scripts that start it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from fedbary.data.atomic import private_folder, write_atomically
from fedbary_flower import scripts
from fedbary_flower.certificates import authority, key_pair, pem, server_certificate
from fedbary.deploy.plan import SETTINGS, Plan, need_flower, plan_text
from fedbary.deploy.run_keys import app_project
from fedbary.errors import SettingsError

SECRET, PUBLIC, PROGRAM = 0o600, 0o644, 0o700
File = tuple[bytes | str, int]  # what is in it, and its mode


def create(folder: str | Path, plan: Plan) -> Path:
    """Write a new federation; nothing of an existing one is touched, and nothing is left behind if it fails.

    Returns
    -------
    Path
        The folder, absolute.
    """
    need_flower()

    def fill(draft: Path, target: Path) -> None:
        for path, (text, mode) in _files(plan, target).items():
            put(draft / path, text, mode)

    return new_folder(folder, fill)


def new_folder(folder: str | Path, fill: Callable[[Path, Path], None]) -> Path:
    """A federation's folder, absolute, with what ``fill(draft, target)`` puts into its draft; whole or not at all."""
    target = Path(folder).absolute()
    if target.is_symlink() or target.is_file() or (target.is_dir() and any(target.iterdir())):
        what = "already holds a federation" if (target / SETTINGS).exists() else "is not an empty folder"
        raise SettingsError("deploy.folder-taken", folder=str(target), what=what)
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        fill(draft, target)
        draft.replace(target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return target


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


def put(file: Path, content: bytes | str, mode: int) -> None:
    """Write a file of a federation, whole or not at all, in folders that nobody else can look into."""
    private_folder(file.parent)
    data = content if isinstance(content, bytes) else content.encode()
    write_atomically(file, lambda draft: draft.write_bytes(data), mode=SECRET)
    file.chmod(mode)
