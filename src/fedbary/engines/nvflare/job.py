"""The job that values the sites of a federation, and FLARE's simulator for it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from nvflare.collab import CollabRecipe
from nvflare.job_config.api import FedJob
from nvflare.recipe import SimEnv

from fedbary.engines.networked import WAVE
from fedbary.engines.nvflare.coordinator import Coordinator
from fedbary.engines.nvflare.site import Site

PACKAGE = "fedbary"
# All that a site, or the server, has to allow for our jobs: nothing that a job brings is ever run.
SITE_CLASSES = (
    "nvflare.collab.runtime.executor.CollabExecutor",
    "fedbary.engines.nvflare.site.Site",
)
SERVER_CLASSES = (
    "nvflare.collab.runtime.controller.CollabController",
    "fedbary.engines.nvflare.coordinator.Coordinator",
)


def recipe(config: Mapping[str, Any], *, name: str = "fedbary", min_clients: int = 1) -> CollabRecipe:
    """The job that values the sites of a federation.

    Parameters
    ----------
    config : mapping
        As of `Coordinator`.
    name : str
        The job's name.
    min_clients : int
        Sites without which FLARE does not begin the job.

    Returns
    -------
    CollabRecipe
        FLARE's, for ``execute(...)`` in one of its environments or ``export(folder)``. It holds no code: fedbary is
        installed at the sites, whose owners allow its classes and need not allow any other.

    Examples
    --------
    >>> recipe({"protocol": "cards"}, min_clients=3).job_name
    'fedbary'
    """
    return _WithoutCode(
        job_name=name,
        server=Coordinator(config),
        client=Site(),
        min_clients=min_clients,
        max_call_threads_for_server=WAVE,
    )


class _WithoutCode(CollabRecipe):  # type: ignore[misc]
    """A recipe whose classes are installed at the sites, instead of travelling with the job."""

    def finalize(self) -> FedJob:
        self._job.set_app_packages([PACKAGE])
        return super().finalize()

    @staticmethod
    def _user_source_entries(_: Iterable[object]) -> list[tuple[str, str | None]]:
        return []


class Simulator(SimEnv):  # type: ignore[misc]
    """FLARE's simulator, which allows fedbary's classes.

    Parameters
    ----------
    sites : int or iterable of str
        How many sites, or their names; FLARE runs each in a process of its own.
    workspace : path
        The folder for what the server and the sites keep.
    log_config : str
        How much FLARE says on the screen.
    """

    def __init__(self, sites: int | Iterable[str], workspace: str | Path, *, log_config: str = "ERROR") -> None:
        names = [f"site-{number + 1}" for number in range(sites)] if isinstance(sites, int) else list(sites)
        super().__init__(clients=names, workspace_root=str(workspace), log_config=log_config)

    def deploy(self, job: FedJob) -> str:
        """Allow our classes, and run the job."""
        local = Path(self.workspace_root) / job.name / "local"
        local.mkdir(parents=True, exist_ok=True)
        allowed = {"format_version": 2, "class_allow_list": [*SERVER_CLASSES, *SITE_CLASSES]}
        (local / "resources.json").write_text(json.dumps(allowed))
        return str(super().deploy(job))
