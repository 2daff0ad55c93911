"""A new federation on Flower as a folder: certificates, keys and scripts that start it."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from fedbary.deploy import scripts
from fedbary.deploy.certificates import authority, key_pair, pem, server_certificate
from fedbary.deploy.plan import SETTINGS, Plan, need_flower, plan_text
from fedbary.errors import SettingsError

_SECRET, _PUBLIC, _PROGRAM = 0o600, 0o644, 0o700


def create(folder: str | Path, plan: Plan) -> Path:
    """Write a new federation; nothing of an existing one is touched, and nothing is left behind if it fails.

    Returns
    -------
    Path
        The folder, absolute.
    """
    need_flower()
    target = Path(folder).absolute()
    if target.is_symlink() or target.is_file() or (target.is_dir() and any(target.iterdir())):
        what = "already holds a federation" if (target / SETTINGS).exists() else "is not an empty folder"
        raise SettingsError("deploy.folder-taken", folder=str(target), what=what)
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        for path, (text, mode) in _files(plan, target).items():
            _write(draft, path, text, mode)
        draft.replace(target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return target


def _files(plan: Plan, target: Path) -> dict[str, tuple[bytes | str, int]]:
    """Every file of a new federation with its mode."""
    signer, ca = authority(plan.days)
    key, certificate = server_certificate(plan, signer, ca)
    files: dict[str, tuple[bytes | str, int]] = {
        SETTINGS: (plan_text(plan), _PUBLIC),
        "README.md": (scripts.filled(scripts.README, plan, target), _PUBLIC),
        "server.sh": (scripts.filled(scripts.SERVER, plan, target), _PROGRAM),
        "register.sh": (scripts.filled(scripts.REGISTER, plan, target), _PROGRAM),
        "run.sh": (scripts.filled(scripts.RUN, plan, target), _PROGRAM),
        "flwr/config.toml": (scripts.filled(scripts.CONFIG, plan, target), _SECRET),
        "ca/ca.key": (pem(signer), _SECRET),
        "ca/ca.crt": (pem(ca), _PUBLIC),
        "server/server.key": (pem(key), _SECRET),
        "server/server.pem": (pem(certificate), _PUBLIC),
    }
    for name in plan.nodes:
        private, public = key_pair(name)
        files |= {
            f"nodes/{name}/key": (private, _SECRET),
            f"nodes/{name}/key.pub": (public, _PUBLIC),
            f"nodes/{name}/ca.crt": (pem(ca), _PUBLIC),
            f"nodes/{name}/node-{name}.sh": (scripts.filled(scripts.NODE, plan, target, name), _PROGRAM),
            f"nodes/{name}/README.md": (scripts.filled(scripts.NODE_README, plan, target, name), _PUBLIC),
            f"nodes/{name}/Containerfile": (scripts.filled(scripts.CONTAINER, plan, target, name), _PUBLIC),
        }
    return files


def _write(root: Path, path: str, text: bytes | str, mode: int) -> None:
    file = root
    for part in Path(path).parent.parts:
        file = file / part
        file.mkdir(mode=0o700, exist_ok=True)
    handle = os.open(root / path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _SECRET)
    with os.fdopen(handle, "wb") as stream:
        stream.write(text if isinstance(text, bytes) else text.encode())
    (root / path).chmod(mode)
