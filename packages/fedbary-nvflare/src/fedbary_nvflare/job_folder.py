"""The job folder of a run on FLARE: settings for the server, and nothing at all for the sites."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from fedbary.protocols.messages import Scalar
from fedbary_nvflare.job import recipe

_NAME = "fedbary"
_SERVER_CONFIG, _SITE_CONFIG = "config_fed_server.json", "config_fed_client.json"


def export(place: Path, config: Mapping[str, Scalar], *, names: Iterable[str] = (), least: int = 1) -> Path:
    """Write the job's folder into ``place``.

    Parameters
    ----------
    config : mapping
        The run config.
    names : iterable of str
        The sites that get the job; without any, all that are connected.
    least : int
        Sites without which FLARE does not begin.
    """
    place.mkdir(parents=True, exist_ok=True)
    recipe(config, name=_NAME, min_clients=least).export(str(place))
    job = place / _NAME
    sites = list(names)
    if sites:
        _for(job, sites)
    return job


def _for(job: Path, sites: list[str]) -> None:
    """Two apps in place of one, so that what the coordinator typed, such as paths, goes to the server alone."""
    (job / "app").rename(job / "site")
    server = job / "server" / "config"
    server.mkdir(parents=True)
    (job / "site" / "config" / _SERVER_CONFIG).rename(server / _SERVER_CONFIG)
    file = job / "meta.json"
    meta = json.loads(file.read_text(encoding="utf-8")) | {"deploy_map": {"server": ["server"], "site": sites}}
    file.write_text(json.dumps(meta, indent=2) + "\n", encoding="utf-8")
