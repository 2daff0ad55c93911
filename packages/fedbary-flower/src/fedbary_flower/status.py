"""How a federation is doing: certificates, keys, the server, and the nodes that it knows."""

from __future__ import annotations

import json
import socket
import ssl
from pathlib import Path
from shlex import quote
from typing import Any

from fedbary.deploy.plan import Plan, expiry, read_plan
from fedbary_flower.control import NoAnswer, flwr
from fedbary_flower.scripts import CONNECTION

_CERTIFICATES = {"ca": "ca/ca.crt", "server": "server/server.pem"}


def status(folder: str | Path) -> dict[str, Any]:
    """How a federation is doing: certificates, keys, the server, and the nodes that it knows."""
    folder = Path(folder).absolute()
    plan = read_plan(folder)
    problem = server_problem(plan, folder)
    known, list_problem = ({}, None) if problem else _listed(folder)
    nodes = []
    for name in plan.nodes:
        number = registered_id(folder, name)
        state = known.pop(number, None) if number else None
        nodes.append(
            {
                "name": name,
                "key": _key_state(folder / "nodes" / name),
                "node_id": number,
                # Without an answer of the server, all there is to go by is what `register.sh` noted.
                "registered": state is not None if problem is None and list_problem is None else None,
                "status": state or ("not registered" if problem is None and list_problem is None else "unknown"),
            }
        )
    return {
        "folder": str(folder),
        "engine": plan.engine,
        "address": plan.address,
        "certificates": {name: expiry(folder / path) for name, path in _CERTIFICATES.items()},
        "server": {"answers": problem is None, "problem": problem or list_problem},
        "nodes": nodes,
        "other_nodes": [
            {"node_id": number, "status": state, "remedy": _unregister(folder, number)}
            for number, state in known.items()
        ],
    }


def _key_state(folder: Path) -> str:
    """The private key may be gone, once its owner has it: then the public one is all that is needed here."""
    if (folder / "key").is_file():
        return "pair"
    return "public" if (folder / "key.pub").is_file() else "none"


def registered_id(folder: Path, name: str) -> str | None:
    """The node id that `register.sh` noted."""
    try:
        return str(int(json.loads((folder / "registered" / f"{name}.json").read_text(encoding="utf-8"))["node-id"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def server_problem(plan: Plan, folder: Path) -> str | None:
    """Why the server cannot be talked to, if so."""
    try:
        context = ssl.create_default_context(cafile=str(folder / "ca" / "ca.crt"))
        with (
            socket.create_connection((plan.host, plan.port), timeout=5) as link,
            context.wrap_socket(link, server_hostname=plan.host),
        ):
            return None
    except ssl.SSLCertVerificationError as error:
        return f"it shows a certificate that is not this federation's ({error.verify_message})"
    except (ssl.SSLError, OSError) as error:
        return f"it does not answer ({error.strerror or error})"


def _listed(folder: Path) -> tuple[dict[str, str], str | None]:
    """Status of each node id that the server knows, asked with Flower's own program."""
    try:
        nodes = flwr(folder, "supernode", "list", CONNECTION)["nodes"]
        known = {str(node["node-id"]): str(node["status"]) for node in nodes}
    except NoAnswer as why:
        return {}, f"it does not list its nodes ({why})"
    except (KeyError, TypeError):
        return {}, "Flower's program 'flwr supernode list' gave no answer that can be read"
    return {number: state for number, state in known.items() if state != "unregistered"}, None


def _unregister(folder: Path, number: str) -> str:
    home = quote(str(folder / "flwr"))
    return f"FLWR_HOME={home} FLWR_TELEMETRY_ENABLED=0 flwr supernode unregister {number} {CONNECTION}"
