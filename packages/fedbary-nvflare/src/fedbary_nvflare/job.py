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
from fedbary.errors import wrong_parameter
from fedbary_nvflare.coordinator import Coordinator
from fedbary_nvflare.site import Site
from fedbary_nvflare.site_config import FILE

# Sites have them: a job that is exported copies neither.
PACKAGES = ("fedbary", "fedbary_nvflare")
_START = 600
_MOST_SIMULATED = 100  # FLARE's, which otherwise ends with a code and no word
# All that a site, or the server, has to allow for our jobs: nothing that a job brings is ever run.
SITE_CLASSES = (
    "nvflare.collab.runtime.executor.CollabExecutor",
    "fedbary_nvflare.site.Site",
)
# What keeps a site from anything else that a server could ask of FLARE's program.
CLOSED_SITE = {"id": "app_deployer", "path": "fedbary_nvflare.closed_site.ClosedSite", "args": {}}
SERVER_CLASSES = (
    "nvflare.collab.runtime.controller.CollabController",
    "fedbary_nvflare.coordinator.Coordinator",
)


def recipe(
    config: Mapping[str, Any], *, name: str = "fedbary", min_clients: int = 1, site: Site | None = None
) -> CollabRecipe:
    """The job that values the sites of a federation.

    Parameters
    ----------
    config : mapping
        As of `Coordinator`.
    name : str
        The job's name.
    min_clients : int
        Sites without which FLARE does not begin the job.
    site : Site, optional
        One of a class of your own, for simulations: its code travels with the job, which real sites should not allow.

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
        client=site or Site(),
        min_clients=min_clients,
        # FLARE ends the job if a site has not loaded it by then.
        sync_task_timeout=_START,
        max_call_threads_for_server=WAVE,
    )


class _WithoutCode(CollabRecipe):  # type: ignore[misc]
    """A recipe whose classes are installed at the sites, instead of travelling with the job."""

    def finalize(self) -> FedJob:
        self._job.set_app_packages(list(PACKAGES))
        return super().finalize()

    @staticmethod
    def _user_source_entries(_: Iterable[object]) -> list[tuple[str, str | None]]:
        return []


class Simulator(SimEnv):  # type: ignore[misc]
    """FLARE's simulator, which allows fedbary's classes.

    Parameters
    ----------
    sites : int or iterable of str
        How many sites, or their names; FLARE runs each in a process of its own, and 100 at most.
    workspace : path
        The folder for what the server and the sites keep; each run of a job starts anew there.
    site_config : mapping, optional
        What the owners' files say, with ``{site}`` for a site's name. Left out, each site holds a part of the data set
        that the job names.
    log_config : str
        How much FLARE says.
    """

    def __init__(
        self,
        sites: int | Iterable[str],
        workspace: str | Path,
        *,
        site_config: Mapping[str, Any] | None = None,
        log_config: str = "ERROR",
    ) -> None:
        names = [f"site-{number + 1}" for number in range(sites)] if isinstance(sites, int) else list(sites)
        if not 1 <= len(names) <= _MOST_SIMULATED:
            raise wrong_parameter("sites", type(self).__name__, f"1 to {_MOST_SIMULATED} of them", len(names))
        super().__init__(clients=names, workspace_root=str(workspace), log_config=log_config)
        self.site_config = site_config

    def deploy(self, job: FedJob) -> str:
        """Allow our classes, write the owners' file, and run the job."""
        folder = Path(self.workspace_root).absolute() / job.name
        local = folder / "local"
        local.mkdir(parents=True, exist_ok=True)
        allowed = {"format_version": 2, "class_allow_list": [*SERVER_CLASSES, *SITE_CLASSES]}
        (local / "resources.json").write_text(json.dumps(allowed), encoding="utf-8")
        if self.site_config is not None:
            own = {"state-path": str(folder / "owners"), **self.site_config}
            lines = [f"{key} = {json.dumps(value)}\n" for key, value in own.items()]
            (local / FILE).write_text("".join(lines), encoding="utf-8")
        return str(super().deploy(job))
