"""What `fedbary federation doctor` looks at; each look changes nothing."""

from __future__ import annotations

import shutil
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from fedbary.cli.commands.doctor_findings import extra_finding
from fedbary.cli.ui.findings import Finding
from fedbary.cli.ui.session import program
from fedbary.wording import counted

if TYPE_CHECKING:
    from fedbary.deploy.engines import Network
    from fedbary.deploy.plan import Plan

_SOON = 30
_LEAST_SPACE = 2**30
_MOST_SKEW = 60.0
_CERTIFICATES = {"ca": "authority's certificate", "server": "server's certificate"}


def findings(folder: Path, plan: Plan, net: Network, found: Mapping[str, Any]) -> list[Finding]:
    """Look at everything; ``found`` is the federation's status."""
    return [
        _versions(plan),
        _secrets(folder),
        *_certificates(folder, found),
        *_files(folder, plan),
        _server(folder, plan, net, found),
        *_clock(folder, plan, found),
        *_nodes(folder, plan, net, found),
        _disk(folder),
    ]


def _versions(plan: Plan) -> Finding:
    from fedbary import __version__

    extra = extra_finding(plan.engine)
    if extra.state != "ok":
        return Finding(plan.engine, "problem", extra.words, extra.remedy, needed=True)
    words = ", ".join(filter(None, (f"fedbary {__version__}", extra.words)))
    return Finding(plan.engine, "ok", words, needed=True)


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


def _files(folder: Path, plan: Plan) -> Iterator[Finding]:
    """What only Flower's federations have on disk."""
    if plan.engine != "flower":
        return
    from fedbary_flower import inspection

    renew = _command("rotate-keys", folder, "--server")
    if problem := inspection.certificate_problem(folder, plan):
        yield Finding("server's names", "problem", problem, renew, needed=True)
    else:
        yield Finding("server's names", "ok", f"the certificate is for {plan.host}, and its key fits", needed=True)
    if inspection.knows_its_place(folder):
        yield Finding("Flower's settings", "ok", "name this folder", needed=True)
    else:
        words, file = "name another folder: this one was moved", folder / "flwr" / "config.toml"
        remedy = f'write root-certificates = "{folder / "ca" / "ca.crt"}" into {file}'
        yield Finding("Flower's settings", "problem", words, remedy, needed=True)


def _server(folder: Path, plan: Plan, net: Network, found: Mapping[str, Any]) -> Finding:
    from fedbary_flower import inspection

    start = net.steps(folder, plan)[0].command
    server = found["server"]
    if server["answers"] and server["problem"] is None:
        if plan.engine == "flower" and not inspection.shows_its_certificate(folder, plan):
            words = "still shows an older certificate than server/server.pem"
            return Finding("server", "missing", words, f"end it, and start it again: {start}", needed=True)
        return Finding("server", "ok", f"answers at {plan.address}", needed=True)
    if not server["answers"] and inspection.is_taken(plan):
        words = f"somebody else listens at {plan.address}: {server['problem']}"
        return Finding("server", "problem", words, f"end that program, then {start}", needed=True)
    return Finding("server", "problem", f"{plan.address}: {server['problem']}", start, needed=True)


def _clock(folder: Path, plan: Plan, found: Mapping[str, Any]) -> Iterator[Finding]:
    """Certificates and signed requests are refused where clocks differ."""
    from fedbary_flower import inspection

    if plan.engine != "flower" or not found["server"]["answers"]:
        return
    skew = inspection.clock_skew(folder, plan)
    if skew is None:
        yield Finding("clock", "ok", "the server does not say what time it is")
    elif abs(skew) > _MOST_SKEW:
        words = f"the server's is {abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} this machine's"
        yield Finding("clock", "problem", words, "set both: sudo timedatectl set-ntp true", needed=True)
    else:
        yield Finding("clock", "ok", "the server's and this machine's agree")


def _nodes(folder: Path, plan: Plan, net: Network, found: Mapping[str, Any]) -> Iterator[Finding]:
    from fedbary_flower import inspection
    from fedbary.deploy.plan import CONNECTION

    for node in found["nodes"]:
        name = node["name"]
        what = f"node {name}"
        rotate = _command("rotate-keys", folder, name)
        alone = {**found, "nodes": [node]}
        step = net.next_step(folder, plan, alone)
        problem = inspection.key_problem(folder, name) if plan.engine == "flower" else None
        if problem:
            yield Finding(what, "problem", problem, rotate, needed=True)
        elif node["status"] == "online":
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
        home = quote(str(folder / "flwr"))
        refuse = f"FLWR_HOME={home} FLWR_TELEMETRY_ENABLED=0 flwr supernode unregister {node['node_id']} {CONNECTION}"
        yield Finding("another node", "missing", words, refuse if plan.engine == "flower" else "")


def _disk(folder: Path) -> Finding:
    free = shutil.disk_usage(folder).free
    words = f"{free / 2**30:.1f} GiB free"
    if free < _LEAST_SPACE:
        return Finding("disk", "problem", words, "make room: results and Flower's database grow here", needed=True)
    return Finding("disk", "ok", words)


def _command(name: str, folder: Path, *words: str) -> str:
    return " ".join([program(), "federation", name, quote(str(folder)), *words])
