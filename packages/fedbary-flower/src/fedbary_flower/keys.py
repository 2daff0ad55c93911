"""New nodes and new keys of a federation on Flower that is in use; whatever interrupts it, it can be done again."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from fedbary.deploy.plan import PUBLIC, SECRET, Plan, put
from fedbary.errors import DataError
from fedbary_flower.certificates import authority_certificate, key_pair, pem, read_authority, server_certificate
from fedbary_flower.control import NoAnswer, environment, flwr
from fedbary_flower.scripts import CONNECTION
from fedbary_flower.setup import node_files, plan_files
from fedbary_flower.status import registered_id, server_problem

_SOONER = timedelta(days=1)


def add_nodes(folder: Path, plan: Plan, names: Sequence[str]) -> bool:
    """Give new nodes their folders; what is there already stays. Returns whether the server lets them in by now."""
    ca = (folder / "ca" / "ca.crt").read_bytes()
    for name in names:
        home = folder / "nodes" / name
        for path, (content, mode) in node_files(plan, folder, name, ca).items():
            if not (folder / path).exists():
                put(folder / path, content, mode)
        if not (home / "key.pub").exists():  # an owner may have sent one of their own
            _new_pair(home)
    # The plan comes last: until then nobody has heard of the nodes.
    for path, (content, mode) in plan_files(plan, folder).items():
        put(folder / path, content, mode)
    if server_problem(plan, folder):
        return False
    _register(folder, names)
    return True


def rotate(folder: Path, plan: Plan, nodes: Sequence[str], *, server: bool) -> list[str]:
    """New keys of these nodes, whose old ones the server then refuses, and of the server; returns what is to be sent.

    A new certificate of the server makes the authority's last as long, with the same key: nodes that have the old one
    still know the server by it, until it ends.
    """
    known = {name: number for name in nodes if (number := registered_id(folder, name)) is not None}
    if nodes:
        _check_that_old_keys_can_be_refused(folder, plan, known, [name for name in nodes if name not in known])
    files = _new_certificate(folder, plan) if server else []
    for name in nodes:
        _new_pair(folder / "nodes" / name)
        if name in known:
            _unregister(folder, name, known[name])
            _register(folder, [name])
    return [*(f"nodes/{name}/key" for name in nodes), *files]


def _check_that_old_keys_can_be_refused(
    folder: Path, plan: Plan, known: Mapping[str, str], unknown: Sequence[str]
) -> None:
    """Refuse to replace a key that the server would go on to take: it must run, and its number must be noted.

    A registration that was cut short, by a full disk for one, is the server's and stands nowhere here.
    """
    problem, listed = server_problem(plan, folder), list[dict[str, str]]()
    if problem and not known and not (folder / "server" / "superlink.db").exists():
        return  # no server has ever heard of a key
    try:
        listed = flwr(folder, "supernode", "list", CONNECTION)["nodes"] if unknown and not problem else []
    except NoAnswer as why:
        problem = str(why)
    if problem:
        raise DataError("deploy.server-needed", address=plan.address, problem=problem, script=str(folder / "server.sh"))
    noted = {registered_id(folder, name) for name in plan.nodes}
    numbers = [str(node["node-id"]) for node in listed if node["status"] != "unregistered"]
    if strangers := [number for number in numbers if number not in noted]:
        home = shlex.quote(str(folder / "flwr"))
        raise DataError("deploy.key-not-noted", names=", ".join(unknown), numbers=", ".join(strangers), home=home)


def _new_pair(home: Path) -> None:
    private, public = key_pair(home.name)
    put(home / "key", private, SECRET)
    put(home / "key.pub", public, PUBLIC)


def _new_certificate(folder: Path, plan: Plan) -> list[str]:
    file = folder / "ca" / "ca.key"
    if not file.is_file():
        raise DataError("deploy.no-authority-key", file=str(file))
    signer, ca = read_authority(file.read_bytes(), (folder / "ca" / "ca.crt").read_bytes())
    send = []
    if ca.not_valid_after_utc < datetime.now(UTC) + timedelta(days=plan.days) - _SOONER:
        ca = authority_certificate(signer, plan.days)
        for path in ("ca", *(f"nodes/{name}" for name in plan.nodes)):
            put(folder / path / "ca.crt", pem(ca), PUBLIC)
        send = [f"nodes/{name}/ca.crt" for name in plan.nodes]
    key, certificate = server_certificate(plan, signer, ca)
    put(folder / "server" / "server.key", pem(key), SECRET)
    put(folder / "server" / "server.pem", pem(certificate), PUBLIC)
    return send


def _unregister(folder: Path, name: str, number: str) -> None:
    """Forget a node's old key; that the server forgot it before is as good."""
    try:
        flwr(folder, "supernode", "unregister", number, CONNECTION)
    except NoAnswer as why:
        listed = flwr(folder, "supernode", "list", CONNECTION)["nodes"]
        if any(str(node["node-id"]) == number and node["status"] != "unregistered" for node in listed):
            raise DataError("deploy.not-unregistered", name=name, why=str(why)) from None
    (folder / "registered" / f"{name}.json").unlink(missing_ok=True)


def _register(folder: Path, names: Sequence[str]) -> None:
    script = folder / "register.sh"
    done = subprocess.run(  # noqa: S603 - the federation's own script, with names that a plan has checked
        ["bash", str(script), *names],  # noqa: S607 - as the user would
        env=environment(folder),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["no reason was given"])[-1]
        raise DataError("deploy.not-registered", script=str(script), names=" ".join(names), why=why)
