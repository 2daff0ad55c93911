"""`fedbary federation`: set up a real federation, and look after it; `federation_run` values its nodes."""

from __future__ import annotations

import shutil
import socket
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any

from fedbary.cli.commands.doctor import findings_page
from fedbary.cli.commands.federation_run import FOLDER, command_line, doctor_step, known_nodes, run, step_parts
from fedbary.cli.ui.command import command, group, register
from fedbary.cli.ui.options import argument, comma_separated, flag, one_of, option
from fedbary.cli.ui.session import one_line
from fedbary.deploy.network import Finding, Network, Step, network, opened
from fedbary.deploy.plan import ENGINES, Plan
from fedbary.errors import SettingsError
from fedbary.views.page import Grid, Line, Page, Part
from fedbary.wording import counted

_SOON = 30
_LEAST_SPACE = 2**30
_SECONDS = 5
_CERTIFICATES = {"ca": "authority's certificate", "server": "server's certificate"}
_KEYS = {"pair": "key pair", "public": "public key", "none": "none"}
_SAFELY = "over a safe channel."


@command("fedbary federation init my-federation --nodes north,south --host fed.example.org --port 8443", json=False)
def init(
    folder: Path = argument("A new folder.", "DIR"),
    *,
    nodes: str = option("The data owners' nodes, separated by commas.", "NAMES", default=..., show_default=False),
    host: str = option("Name or address at which the nodes find the server.", default="127.0.0.1"),
    port: int = option("The server's port.", default=8443),
    node_port: int = option("The first node's port on its own machine; the others follow.", default=9500),
    days: int = option("How long the certificates are valid.", default=365),
    san: str | None = option("More names of the server: DNS:fed.example.org,IP:192.0.2.7", "LIST"),
    engine: str = option(
        "What carries the messages: flower, or nvflare (NVIDIA FLARE).",
        "NAME",
        default="flower",
        complete=one_of(*ENGINES),
    ),
) -> Page:
    """Make the certificates, the keys and the scripts of a new federation.

    DIR/README.md says who gets which file, and how to start. Each data owner gets one folder, DIR/nodes/NAME, with a
    key that is theirs. Nothing is started, and nothing is sent: the last lines say what to type next.
    """
    names, more = comma_separated(nodes), comma_separated(san or "")
    plan = Plan(names, host=host, port=port, node_port=node_port, days=days, san=more, engine=engine)
    net = network(plan.engine)
    made = net.create(folder, plan)
    first, *later = net.steps(made, plan)
    size = counted(len(plan.nodes), "node")
    return Page(
        [
            Line(f"A federation of {size} with its server at {plan.address}, in {made}", whole=True),
            *("README.md there says who gets which file.", ""),
            *step_parts("Next, type", first),
            "",
            *step_parts("Then", *later, _run_step(made)),
        ]
    )


@command("fedbary federation status my-federation")
def status(folder: Path = FOLDER) -> Page:
    """Say when the certificates end, whether the server answers, and which nodes are registered and online."""
    place, plan, net = opened(folder)
    found = net.status(place)
    server = found["server"]
    well = server["answers"] and not server["problem"]
    said = " answers." if well else f": {one_line(server['problem'])}."
    parts: list[Part] = [Line(f"The server at {found['address']}{said}", whole=True)]
    for name, certificate in found["certificates"].items():
        title, days = f"The {_CERTIFICATES[name]}", certificate["days_left"]
        if days is None:
            parts.append(f"{title} cannot be read.")
        elif days < 0:
            renew = command_line("rotate-keys", found["folder"], "--server")
            expired = f"{title} has expired on {certificate['expires'][:10]}: type {renew}"
            parts.append(Line(expired, "red", whole=True))
        else:
            valid = f"{title} is valid for {counted(days, 'day')}, to {certificate['expires'][:10]}."
            parts.append(Line(valid, "yellow" if days < _SOON else ""))
    rows = [(node["name"], _KEYS[node["key"]], node["status"], node["node_id"] or "–") for node in found["nodes"]]
    rows += [("(of nobody here)", "–", node["status"], node["node_id"]) for node in found["other_nodes"]]
    parts += ["", Grid(("node", "key here", "status", "id at the server"), rows), ""]
    return Page([*parts, *step_parts("Next, type", net.next_step(place, plan, found) or _run_step(place))], found)


@command("fedbary federation doctor my-federation")
def doctor(folder: Path = FOLDER) -> Page:
    """Check everything about a federation, and say what to type where something is wrong.

    The programs, the folder and who can read it, keys and certificates, the server and what it shows, the nodes, the
    clock, and the disk. Every line is ok, missing (a node that is off, for one) or a problem, with the remedy. Nothing
    is changed. Exit code 2: there is a problem.
    """
    place, plan, net = opened(folder)
    found = net.status(place)
    page = findings_page(list(findings(place, plan, net, found)), commands=True)
    step = net.next_step(place, plan, found) or (None if page.code else _run_step(place))
    return page if step is None else replace(page, parts=[*page.parts, "", *step_parts("Next, type", step)])


@command("fedbary federation add-node my-federation east", json=False)
def add_node(folder: Path = FOLDER, names: list[str] = argument("The new nodes.", "NAME…")) -> Page:
    """Add data owners to a federation, while it runs if it does.

    Each gets a folder, DIR/nodes/NAME, with a key of its own; nothing of the others changes. Where the server runs, it
    is told of them at once; the lines at the end say whom to send what, and what to type next.
    """
    place, plan, net = opened(folder)
    for name in names:
        if name in plan.nodes:
            raise SettingsError("deploy.node-there", name=name)
    grown = replace(plan, nodes=(*plan.nodes, *names))
    known = net.add_nodes(place, grown, names)
    found = net.status(place)
    new = [node for node in found["nodes"] if node["name"] in names]
    step = net.next_step(place, grown, {**found, "nodes": new})
    parts: list[Part] = [f"The federation has {counted(len(grown.nodes), 'node')} now."]
    parts += [Line(f"Send the folder {place / 'nodes' / name} to {name}, {_SAFELY}", whole=True) for name in names]
    parts += [] if known else ["The server does not run: it has not heard of them yet."]
    return Page([*parts, "", *step_parts("Next, type", step or _run_step(place))])


@command("fedbary federation rotate-keys my-federation north", json=False)
def rotate_keys(
    folder: Path = FOLDER,
    nodes: list[str] | None = argument("Nodes that get a new key. Default: all.", "[NODE…]", default=None),
    *,
    server: bool = flag("--server", "A new certificate of the server; the nodes' keys stay, unless named."),
) -> Page:
    """Replace keys that are old, or that somebody else may have seen.

    A node's new key is told to the server, which refuses the old one from then on; so the server must run. The new
    certificate of the server is signed by the authority in DIR/ca, by which the nodes know it again; start the server
    anew afterwards. The lines at the end say what has to be sent to whom. What was interrupted can be done again.
    """
    place, plan, net = opened(folder)
    chosen = known_nodes(plan, nodes) if nodes else [] if server else list(plan.nodes)
    files = net.rotate(place, plan, chosen, server=server)
    parts: list[Part] = [Line(f"Send {place / file} to {file.split('/')[1]}, {_SAFELY}", whole=True) for file in files]
    if chosen:
        parts.append("A node goes on as soon as it is started with its new key; the old one is refused.")
    restart = [net.steps(place, plan)[0]] if server else []
    title = "Next, end the server and type" if server else "Next, type"
    return Page([*parts, "", *step_parts(title, *restart, doctor_step(place))])


def _run_step(folder: Path) -> Step:
    """A run, once all else is done."""
    line = command_line("run", folder, "--reference FILE --label COLUMN")
    return Step(line, "to value the nodes; without --reference and --label, among each other")


def findings(folder: Path, plan: Plan, net: Network, found: Mapping[str, Any]) -> Iterator[Finding]:
    """Look at everything, and change nothing; ``found`` is the federation's status."""
    # Nobody but the user may read private keys; whoever can list the folder learns no more than names.
    secret = [path for path in sorted(folder.rglob("*")) if path.name == "key" or path.suffix == ".key"]
    readable = [path for path in secret if path.is_file() and stat.S_IMODE(path.stat().st_mode) & 0o077]
    if readable:
        words = f"others on this machine can read {', '.join(str(path.relative_to(folder)) for path in readable[:5])}"
        yield Finding("secret keys", "problem", words, f"chmod -R go-rwx {quote(str(folder))}", needed=True)
    else:
        yield Finding("secret keys", "ok", "only you can read them", needed=True)
    renew = command_line("rotate-keys", folder, "--server")
    for name, certificate in found["certificates"].items():
        what, days = _CERTIFICATES.get(name, name), certificate["days_left"]
        if days is None:
            yield Finding(what, "problem", "cannot be read", "restore the folder from a copy", needed=True)
        elif days < 0:
            yield Finding(what, "problem", f"has expired on {certificate['expires'][:10]}", renew, needed=True)
        else:
            words = f"valid for {counted(days, 'day')}, to {certificate['expires'][:10]}"
            soon = days < _SOON
            yield Finding(what, "missing" if soon else "ok", words, renew if soon else "", needed=True)
    yield _server(folder, plan, net, found["server"])
    yield from net.findings(folder, plan, found)
    for node in found["nodes"]:
        what, state = f"node {node['name']}", node["status"]
        step = net.next_step(folder, plan, {**found, "nodes": [node]})
        remedy = step.command if step else ""
        if state == "online":
            yield Finding(what, "ok", "registered and online")
        elif node["registered"] is False:
            yield Finding(what, "problem", "the server does not know it", remedy, needed=True)
        elif state == "unknown":
            yield Finding(what, "missing", "whether it is online, only the server knows")
        else:
            words = "registered, not online yet" if state == "registered" else f"registered, {state}"
            yield Finding(what, "missing", words, remedy)
    for node in found["other_nodes"]:
        words = f"{node['node_id']} is known to the server, but is of nobody in this folder"
        yield Finding("another node", "missing", words, node["remedy"])
    free = shutil.disk_usage(folder).free
    full, room = free < _LEAST_SPACE, "make room: results and the network's database grow here"
    words = f"{free / 2**30:.1f} GiB free"
    yield Finding("disk", "problem" if full else "ok", words, room if full else "", needed=full)


def _server(folder: Path, plan: Plan, net: Network, server: Mapping[str, Any]) -> Finding:
    if server["answers"] and server["problem"] is None:
        return Finding("server", "ok", f"answers at {plan.address}", needed=True)
    words, start = f"{plan.address}: {server['problem']}", net.steps(folder, plan)[0].command
    if not server["answers"]:
        with suppress(OSError), socket.create_connection((plan.host, plan.port), timeout=_SECONDS):
            words, start = f"somebody else listens at {words}", f"end that program, then {start}"
    return Finding("server", "problem", words, start, needed=True)


federation = group(
    "Set up a real federation with TLS and a key for every node, look after it, and run valuations in it.",
    "fedbary federation init my-federation --nodes north,south --host fed.example.org",
)
register(federation, init, run, status, doctor, add_node, rotate_keys)
