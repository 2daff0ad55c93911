"""A new federation on NVIDIA FLARE as a folder: start-up kits, the owners' files, and a job; and changes to it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from string import whitespace

from fedbary.deploy.plan import PROGRAM, PUBLIC, SECRET, SETTINGS, Plan, from_template, new_folder, plan_text, put
from fedbary.errors import DataError, SettingsError
from fedbary_nvflare import texts

_WORKSHOP = "provision"
# FLARE puts paths into command lines as they are.
_BREAKS_COMMANDS = frozenset("'\"\\*?[]" + whitespace)


def create(folder: str | Path, plan: Plan) -> Path:
    """Write a new federation; nothing of an existing one is touched, and nothing is left behind if it fails.

    Returns
    -------
    Path
        The folder, absolute, with ``server/``, ``admin/`` and a kit for every owner in ``nodes/``.
    """
    if _BREAKS_COMMANDS & set(str(Path(folder).absolute())):
        raise SettingsError("deploy.flare-folder", folder=str(Path(folder).absolute()))

    def fill(draft: Path, target: Path) -> None:
        from fedbary_nvflare.job_folder import export
        from fedbary_nvflare.kits import clear, kits, move, with_store

        made = kits(draft / _WORKSHOP, plan, plan.nodes)
        with_store(made["server"], target / "server")
        for name, kit in made.items():
            move(kit, draft / (f"nodes/{name}" if name in plan.nodes else name))
        clear(draft / _WORKSHOP)
        _write_server(draft, plan)
        for name in plan.nodes:
            _write_owner_files(draft, plan, name)
        export(draft / "admin" / "transfer", {})
        _write_plan(draft, plan)
        for place in (path for path in draft.rglob("*") if path.is_dir()):  # FLARE makes folders that all can look into
            place.chmod(0o700)

    return new_folder(folder, fill)


def add_nodes(folder: Path, plan: Plan, names: Sequence[str]) -> bool:
    """Kits of new sites, signed by the authority that the server trusts: it lets them in as they come."""
    from fedbary_nvflare.kits import clear, kits, move

    workshop = _workshop(folder)
    made = kits(workshop, plan, names)
    for name in names:
        move(made[name], folder / "nodes" / name)
        _write_owner_files(folder, plan, name)
    clear(workshop)
    _write_plan(folder, plan)
    return True


def rotate(folder: Path, plan: Plan, nodes: Sequence[str], *, server: bool) -> Sequence[str]:
    """New certificates of everybody under a new authority; FLARE cannot revoke those of one site alone."""
    from fedbary_nvflare.kits import clear, kits, move

    if not server or set(nodes) - set(plan.nodes):
        raise SettingsError("deploy.flare-cannot-revoke")
    with tempfile.TemporaryDirectory(prefix=".rotated-", dir=folder) as place:
        fresh = Path(place) / _WORKSHOP
        made = kits(fresh, plan, plan.nodes)
        for name, kit in made.items():
            old = folder / (f"nodes/{name}" if name in plan.nodes else name)
            move(kit / "startup", old / "startup")
        shutil.rmtree(folder / _WORKSHOP, ignore_errors=True)
        move(fresh, folder / _WORKSHOP)
    clear(folder / _WORKSHOP)
    return [f"nodes/{name}/startup" for name in plan.nodes]


def _workshop(folder: Path) -> Path:
    from fedbary_nvflare.kits import authority

    workshop = folder / _WORKSHOP
    if not authority(workshop).is_file():
        raise DataError("deploy.no-authority-key", file=str(authority(workshop)))
    return workshop


def _write_server(root: Path, plan: Plan) -> None:
    put(root / "server" / "server.sh", from_template(texts.SERVER, plan), PROGRAM)


def _write_owner_files(root: Path, plan: Plan, name: str) -> None:
    """What the owner of a site fills in; it stays in the site's own kit."""
    from fedbary.guard.policy import OwnerPolicy
    from fedbary_nvflare.site_config import FILE

    kit = root / "nodes" / name
    put(kit / "local" / FILE, from_template(texts.SITE_CONFIG, plan, name), SECRET)
    put(kit / "local" / "policy.toml", OwnerPolicy().to_toml(), SECRET)
    put(kit / "README.md", from_template(texts.SITE_README, plan, name), PUBLIC)


def _write_plan(root: Path, plan: Plan) -> None:
    put(root / "README.md", from_template(texts.README, plan), PUBLIC)
    put(root / SETTINGS, plan_text(plan), PUBLIC)
