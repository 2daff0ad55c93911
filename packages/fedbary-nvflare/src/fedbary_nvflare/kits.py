"""FLARE's start-up kits of a federation, made by FLARE's own provisioner and then closed to all but our jobs."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fedbary.data.atomic import private_folder
from fedbary.deploy.plan import PROGRAM, PUBLIC, SECRET, Plan, put
from fedbary.errors import DataError, SettingsError
from fedbary_nvflare.job import CLOSED_SITE, SERVER_CLASSES, SITE_CLASSES

ADMIN = "coordinator@federation.local"
_PROJECT, _ROLE = "fedbary", "project_admin"
# FLARE calls the job's own side of the server so, whatever the server's name is.
_RESERVED = "server"
_BUILDERS = "nvflare.lighter.impl"
_PROGRAMS = {".sh"}
_SECRETS = {".key"}
# A site that has not called for so long is gone, in seconds; FLARE waits for ten minutes.
_GONE_AFTER = 60
_MOST_SITES = 10_000


def check(plan: Plan) -> None:
    """Refuse a plan whose names FLARE cannot take."""
    if ":" in plan.host:
        raise SettingsError("deploy.flare-host", host=plan.host)
    for name in plan.nodes:
        if name.lower() in (_RESERVED, plan.host.lower()):
            raise SettingsError("deploy.flare-node-name", name=name)


def kits(workshop: Path, plan: Plan, nodes: Iterable[str]) -> dict[str, Path]:
    """Kits of the server, the coordinator and these nodes, as folders by name, made in FLARE's own workshop.

    The workshop remembers the authority and the server, so that a later kit fits to the others; of the nodes' keys it
    keeps nothing.
    """
    from nvflare.lighter.constants import CtxKey
    from nvflare.lighter.prov_utils import prepare_builders
    from nvflare.lighter.provision import prepare_project
    from nvflare.lighter.provisioner import Provisioner

    check(plan)
    names = list(nodes)
    described = _project(plan, names)
    private_folder(workshop)
    try:
        project = prepare_project(described)
        builders = prepare_builders(described)
        done = Provisioner(str(workshop), builders).provision(project, logger=logging.getLogger(__name__))
    except (ValueError, RuntimeError) as error:
        raise DataError("deploy.not-provisioned", why=str(error)) from error
    if done.get(CtxKey.BUILD_ERROR):
        raise DataError("deploy.not-provisioned", why="; ".join(map(str, done.get(CtxKey.ERRORS, []))))
    made = Path(done[CtxKey.CURRENT_PROD_DIR])
    _forget_keys(workshop / _PROJECT / "state" / "cert.json", names)
    server = made / plan.host
    _close_server(server)
    for name in names:
        _close_site(made / name)
    found = {"server": server, "admin": made / ADMIN} | {name: made / name for name in names}
    for kit in found.values():
        _keep_private(kit)
    return found


def authority(workshop: Path) -> Path:
    """The certificate of the federation's authority, beside its key; FLARE keeps both in one file."""
    return workshop / _PROJECT / "state" / "cert.json"


def move(kit: Path, target: Path) -> None:
    """Put a kit, or a part of one, where it belongs; what was there is replaced."""
    private_folder(target.parent)
    shutil.rmtree(target, ignore_errors=True)
    shutil.move(kit, target)


def clear(workshop: Path) -> None:
    """Remove what FLARE leaves of kits that have been moved."""
    for rest in (workshop / _PROJECT).glob("prod_*"):
        shutil.rmtree(rest)


def _project(plan: Plan, nodes: list[str]) -> dict[str, Any]:
    """What FLARE calls a project: the content of a ``project.yml``."""
    others = [entry.partition(":")[2] for entry in plan.san]
    server = {
        "name": plan.host,
        "type": "server",
        "org": "coordinator",
        "fed_learn_port": plan.port,
        "host_names": list(dict.fromkeys([*others, "localhost"])),
    }
    sites = [{"name": name, "type": "client", "org": name.replace("-", "_")} for name in nodes]
    admin = {"name": ADMIN, "type": "admin", "org": "coordinator", "role": _ROLE}
    builders = {
        "workspace.WorkspaceBuilder": {},
        "static_file.StaticFileBuilder": {"config_folder": "config", "scheme": "grpc"},
        "cert.CertBuilder": {"root_valid_days": plan.days},
    }
    return {
        "api_version": 3,
        "name": _PROJECT,
        "description": "A federation whose data is valued",
        "participants": [server, *sites, admin],
        "builders": [{"path": f"{_BUILDERS}.{path}", "args": args} for path, args in builders.items()],
    }


def _forget_keys(state: Path, nodes: Iterable[str]) -> None:
    """FLARE would keep every site's private key beside the authority's, for all to read."""
    content = json.loads(state.read_text(encoding="utf-8"))
    for name in nodes:
        content.pop(name, None)
    put(state, json.dumps(content), SECRET)


def _close_site(kit: Path) -> None:
    """Of all that jobs could ask for only ours is allowed: no code that a job brings, no shell, no streamed logs."""
    local = kit / "local"
    resources = _read(local / "resources.json.default")
    resources |= {"class_allow_list": list(SITE_CLASSES), "allow_log_streaming": False}
    kept = [part for part in resources["components"] if part["id"] != "site_log_streamer"]
    resources["components"] = [*kept, CLOSED_SITE]
    _write(local / "resources.json", resources)
    allowed = {"submit_job": "any", "manage_job": "any", "view": "any"}
    _write(local / "authorization.json", _permissions(allowed))


def _close_server(kit: Path) -> None:
    local = kit / "local"
    resources = _read(local / "resources.json.default")
    resources["class_allow_list"] = list(SERVER_CLASSES)
    resources["servers"][0] |= {"heart_beat_timeout": _GONE_AFTER, "max_num_clients": _MOST_SITES}
    _write(local / "resources.json", resources)
    rights = ("submit_job", "clone_job", "manage_job", "download_job", "view", "operate", "shell_commands")
    _write(local / "authorization.json", _permissions(dict.fromkeys(rights, "any")))


def _permissions(allowed: dict[str, str]) -> dict[str, Any]:
    rights = ("submit_job", "clone_job", "manage_job", "download_job", "view", "operate", "shell_commands", "byoc")
    return {"format_version": "1.0", "permissions": {_ROLE: {right: allowed.get(right, "none") for right in rights}}}


def with_store(kit: Path, place: Path) -> None:
    """Have the server keep its jobs in its kit, which will lie at ``place``, instead of where all servers would."""
    file = kit / "local" / "resources.json"
    resources = _read(file)
    resources["snapshot_persistor"]["args"]["storage"]["args"]["root_dir"] = str(place / "store" / "snapshots")
    for part in resources["components"]:
        if part["id"] == "job_manager":
            part["args"]["uri_root"] = str(place / "store" / "jobs")
    _write(file, resources)


def _keep_private(kit: Path) -> None:
    for path in [kit, *kit.rglob("*")]:
        if path.is_dir():
            path.chmod(0o700)
        else:
            path.chmod(PROGRAM if path.suffix in _PROGRAMS else SECRET if path.suffix in _SECRETS else PUBLIC)


def _read(file: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return content


def _write(file: Path, content: dict[str, Any]) -> None:
    file.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
