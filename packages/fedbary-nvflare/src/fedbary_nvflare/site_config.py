"""A site's own config: a file of its owner's, in the site's own folder, where no job can write or point."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

from nvflare.apis.fl_constant import FLContextKey
from nvflare.collab import collab

from fedbary.checks import did_you_mean
from fedbary.data.options import ReadOptions
from fedbary.errors import SettingsError
from fedbary.guard.node_config import NodeConfig, TableSource

FILE = "fedbary.toml"
VARIABLE = "FEDBARY_NODE"
_LARGEST_FILE = 2**16
_SITE = "{site}"
_KEYS = (
    "data-path", "table", "label", "id", "name", "state-path", "output-path", "policy", "report", "log-level", "device",
    *ReadOptions.keys(),
)  # fmt: skip


def own_config(source: TableSource | None = None) -> NodeConfig:
    """The config of the site that is asked now; ``source`` is what loads its rows, where the job's own code does.

    It stands in ``local/fedbary.toml`` of the site's FLARE folder, or where the variable ``FEDBARY_NODE`` of the site's
    own process says, with the keys of `NodeConfig.of`; ``{site}`` in a text is the site's name. Without one, a site of
    FLARE's simulator holds a part of a named data set, and any other site answers nothing.
    """
    site, workspace = str(collab.site_name), collab.workspace
    file = Path(os.environ.get(VARIABLE) or Path(workspace.get_site_config_dir()) / FILE)
    if file.exists():
        return NodeConfig.of({"name": site} | _read(file, site), site, source)
    if not is_simulated():
        raise SettingsError("engines.site-without-config", file=str(file))
    sites = sorted((str(proxy.name) for proxy in collab.clients), key=lambda name: (len(name), name))
    part = {"partition-id": sites.index(site), "num-partitions": len(sites)}
    state = Path(workspace.get_root_dir()) / "fedbary"
    return NodeConfig.of({"name": site, **part, "state-path": str(state)}, site, source)


def is_simulated() -> bool:
    """Whether FLARE's simulator runs the site, where one party is all sites and the server."""
    return collab.fl_ctx.get_prop(FLContextKey.SIMULATE_MODE, False) is True


def _read(file: Path, site: str) -> dict[str, Any]:
    try:
        if file.stat().st_size > _LARGEST_FILE:
            raise ValueError("too large")
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise SettingsError("engines.site-config-unreadable", file=str(file), why=str(error)) from error
    for key in content:
        if key not in _KEYS:  # a typo must not loosen anything
            guess = did_you_mean(key, _KEYS)
            raise SettingsError("engines.site-config-unknown-key", file=str(file), key=key, guess=guess)
    return {key: value.replace(_SITE, site) if isinstance(value, str) else value for key, value in content.items()}
