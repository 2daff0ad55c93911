"""A federation as a folder: its plan, and its files, made whole or not at all."""

from __future__ import annotations

import ipaddress
import json
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from fedbary.checks import did_you_mean
from fedbary.data.atomic import private_folder, write_atomically
from fedbary.errors import DataError, SettingsError

SETTINGS = "federation.json"
ENGINES = ("flower", "nvflare")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_HOST = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63})*")


@dataclass(frozen=True)
class Plan:
    """What a federation is to be like.

    Parameters
    ----------
    nodes : sequence of str
        Names of the data owners' nodes, made of letters, digits, ``_`` and ``-``.
    host, port : str, int
        Where the server listens and the nodes find it.
    node_port : int
        Port of the first node on its own machine's loopback; the next nodes have the next ones.
    days : int
        How long the certificates are valid.
    san : sequence of str
        More names of the server, ``DNS:fed.example.org`` or ``IP:192.0.2.7``.
    engine : str
        The network that carries the messages: ``flower``, ``nvflare``, or one that another package offers by an entry
        point of the group ``fedbary.networks``.
    """

    nodes: Sequence[str]
    host: str = "127.0.0.1"
    port: int = 8443
    node_port: int = 9500
    days: int = 365
    san: Sequence[str] = ()
    engine: str = "flower"

    def __post_init__(self) -> None:
        for name in self.nodes:
            # A leading '-' would be read as an option by the programs that the name is given to.
            if not _NAME.fullmatch(name) or name.startswith("-"):
                raise SettingsError("deploy.node-name", name=name)
        if not self.nodes:
            raise SettingsError("deploy.no-nodes")
        # Some file systems do not tell 'North' from 'north'.
        if len({name.lower() for name in self.nodes}) < len(self.nodes):
            raise SettingsError("deploy.same-node-name")
        if not (is_ip(self.host) or _HOST.fullmatch(self.host)):
            raise SettingsError("deploy.not-a-host", host=self.host)
        last = self.node_port + len(self.nodes) - 1
        for port in (self.port, self.node_port, last):
            if not 1 <= port <= 65535:
                raise SettingsError("deploy.not-a-port", port=port)
        if self.node_port <= self.port <= last:
            raise SettingsError("deploy.ports-overlap", first=self.node_port, last=last, port=self.port)
        if not 1 <= self.days <= 3650:
            raise SettingsError("deploy.days", days=self.days)
        for entry in self.san:
            kind, _, value = entry.partition(":")
            if not (kind == "DNS" and _HOST.fullmatch(value)) and not (kind == "IP" and is_ip(value)):
                raise SettingsError("deploy.server-name", entry=entry)
        known = list(dict.fromkeys([*ENGINES, *(point.name for point in entry_points(group="fedbary.networks"))]))
        if self.engine not in known:
            guess = did_you_mean(self.engine, known)
            raise SettingsError("deploy.no-engine", name=self.engine, guess=guess, known=" or ".join(known))

    @property
    def address(self) -> str:
        """Host and port."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def ports(self) -> dict[str, int]:
        """Each node's own port."""
        return {name: self.node_port + i for i, name in enumerate(self.nodes)}


def plan_text(plan: Plan) -> str:
    """The plan as a file; `read_plan` reads it back."""
    content = {
        "fedbary_federation": 1,
        "nodes": list(plan.nodes),
        "host": plan.host,
        "port": plan.port,
        "node_port": plan.node_port,
        "days": plan.days,
        "san": list(plan.san),
        "engine": plan.engine,
    }
    return json.dumps(content, indent=2) + "\n"


def read_plan(folder: Path) -> Plan:
    """The plan of a federation's folder."""
    file = folder / SETTINGS
    if not file.is_file():
        raise DataError("deploy.no-federation", folder=str(folder))
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        version = content.pop("fedbary_federation")
        if version != 1:
            raise DataError("deploy.other-version", file=str(file), version=str(version))
        return Plan(**content)
    except (ValueError, KeyError, TypeError, AttributeError, SettingsError) as error:
        raise DataError("deploy.plan-damaged", file=str(file), why=str(error)) from error


def programs() -> Path:
    """Where this Python's programs lie, those of the network among them."""
    return Path(sys.executable).parent


def is_ip(text: str) -> bool:
    """Whether this is an address rather than a name."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text


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


def from_template(template: str, plan: Plan, node: str = "", more: Mapping[str, str] | None = None) -> str:
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
