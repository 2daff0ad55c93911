"""A federation's folder: made whole or not at all, its files private, its texts filled in from the plan."""

from __future__ import annotations

import re
import shlex
import shutil
import tempfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from fedbary.data.atomic import private_folder, write_atomically
from fedbary.deploy.plan import SETTINGS, Plan, programs
from fedbary.errors import SettingsError

SECRET, PUBLIC, PROGRAM = 0o600, 0o644, 0o700
File = tuple[bytes | str, int]  # what is in it, and its mode


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


def put(file: Path, content: bytes | str, mode: int) -> None:
    """Write a file of a federation, whole or not at all, in folders that nobody else can look into."""
    private_folder(file.parent)
    data = content if isinstance(content, bytes) else content.encode()
    write_atomically(file, lambda draft: draft.write_bytes(data), mode=SECRET)
    file.chmod(mode)


def filled(template: str, plan: Plan, node: str = "", more: Mapping[str, str] | None = None) -> str:
    """Put the plan, and ``more`` words, into a template; what stands in a script is quoted for the shell."""
    words: Mapping[str, str] = {
        "programs": shlex.quote(str(programs())),
        "host": plan.host,
        "port": str(plan.port),
        "address": plan.address,
        "nodes": " ".join(plan.nodes),
        "list": "\n".join(f"- `nodes/{name}` to {name}" for name in plan.nodes),
        "node": node,
        "node_port": str(plan.ports.get(node, "")),
        "days": str(plan.days),
        **(more or {}),
    }
    return re.sub(r"@(\w+)@", lambda found: words[found[1]], template)


def expiry(file: Path) -> dict[str, Any]:
    """When a certificate ends, and in how many days."""
    from cryptography import x509

    try:
        end = x509.load_pem_x509_certificate(file.read_bytes()).not_valid_after_utc
    except (OSError, ValueError):
        return {"expires": None, "days_left": None}
    return {"expires": end.isoformat(), "days_left": (end - datetime.now(UTC)) // timedelta(days=1)}
