"""What `fedbary federation doctor` looks at; each look changes nothing."""

from __future__ import annotations

import shutil
import socket
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from fedbary.cli.ui.session import program
from fedbary.deploy.network import Finding
from fedbary.wording import counted

if TYPE_CHECKING:
    from fedbary.deploy.network import Network
    from fedbary.deploy.plan import Plan

_SOON = 30
_LEAST_SPACE = 2**30
_SECONDS = 5
_CERTIFICATES = {"ca": "authority's certificate", "server": "server's certificate"}


def findings(folder: Path, plan: Plan, net: Network, found: Mapping[str, Any]) -> list[Finding]:
    """Look at everything; ``found`` is the federation's status."""
    return [
        _secrets(folder),
        *_certificates(folder, found),
        _server(folder, plan, net, found),
        *net.findings(folder, plan, found),
        *_nodes(folder, plan, net, found),
        _disk(folder),
    ]


def _secrets(folder: Path) -> Finding:
    """Nobody but the user may read private keys; whoever can list the folder learns no more than names."""
    secret = [path for path in sorted(folder.rglob("*")) if path.name == "key" or path.suffix == ".key"]
    open_to_others = [
        str(path.relative_to(folder)) for path in secret if path.is_file() and stat.S_IMODE(path.stat().st_mode) & 0o077
    ]
    if open_to_others:
        words = f"others on this machine can read {', '.join(open_to_others[:5])}"
        return Finding("secret keys", "problem", words, f"chmod -R go-rwx {quote(str(folder))}", needed=True)
    return Finding("secret keys", "ok", "only you can read them", needed=True)


def _certificates(folder: Path, found: Mapping[str, Any]) -> Iterator[Finding]:
    renew = _command("rotate-keys", folder, "--server")
    for name, certificate in found["certificates"].items():
        what, days = _CERTIFICATES.get(name, name), certificate["days_left"]
        if days is None:
            yield Finding(what, "problem", "cannot be read", "restore the folder from a copy", needed=True)
        elif days < 0:
            words = f"has expired on {certificate['expires'][:10]}"
            yield Finding(what, "problem", words, renew, needed=True)
        else:
            words = f"valid for {counted(days, 'day')}, to {certificate['expires'][:10]}"
            soon = days < _SOON
            yield Finding(what, "missing" if soon else "ok", words, renew if soon else "", needed=True)


def _server(folder: Path, plan: Plan, net: Network, found: Mapping[str, Any]) -> Finding:
    start = net.steps(folder, plan)[0].command
    server = found["server"]
    if server["answers"] and server["problem"] is None:
        return Finding("server", "ok", f"answers at {plan.address}", needed=True)
    if not server["answers"] and _is_taken(plan):
        words = f"somebody else listens at {plan.address}: {server['problem']}"
        return Finding("server", "problem", words, f"end that program, then {start}", needed=True)
    return Finding("server", "problem", f"{plan.address}: {server['problem']}", start, needed=True)


def _is_taken(plan: Plan) -> bool:
    """Whether anybody at all listens where the server should."""
    try:
        with socket.create_connection((plan.host, plan.port), timeout=_SECONDS):
            return True
    except OSError:
        return False


def _nodes(folder: Path, plan: Plan, net: Network, found: Mapping[str, Any]) -> Iterator[Finding]:
    for node in found["nodes"]:
        name = node["name"]
        what = f"node {name}"
        alone = {**found, "nodes": [node]}
        step = net.next_step(folder, plan, alone)
        if node["status"] == "online":
            yield Finding(what, "ok", "registered and online")
        elif node["registered"] is False:
            yield Finding(what, "problem", "the server does not know it", step.command if step else "", needed=True)
        elif node["status"] == "unknown":
            yield Finding(what, "missing", "whether it is online, only the server knows")
        else:
            words = "registered, not online yet" if node["status"] == "registered" else f"registered, {node['status']}"
            yield Finding(what, "missing", words, step.command if step else "")
    for node in found["other_nodes"]:
        words = f"{node['node_id']} is known to the server, but is of nobody in this folder"
        yield Finding("another node", "missing", words, node["remedy"])


def _disk(folder: Path) -> Finding:
    free = shutil.disk_usage(folder).free
    words = f"{free / 2**30:.1f} GiB free"
    if free < _LEAST_SPACE:
        return Finding("disk", "problem", words, "make room: results and the network's database grow here", needed=True)
    return Finding("disk", "ok", words)


def _command(name: str, folder: Path, *words: str) -> str:
    return " ".join([program(), "federation", name, quote(str(folder)), *words])
