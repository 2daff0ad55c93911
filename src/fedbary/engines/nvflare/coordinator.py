"""The coordinator's side of a FLARE job: asks the sites, runs the protocol, writes the result and its report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from nvflare.collab import collab

from fedbary.engines import coordinator
from fedbary.engines.nvflare.engine import NvflareEngine
from fedbary.engines.run_config import RunConfig

_OUTPUT = "fedbary"


class Coordinator:
    """The main of a job that values its sites.

    Parameters
    ----------
    config : mapping
        As of a run over Flower: protocol, reference, output … Without an ``output`` that is a full path, the result is
        in the folder of the job's run on the server.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        RunConfig.of(config)  # what makes no sense is refused before the job is sent
        self.config = dict(config)

    @collab.main  # type: ignore[untyped-decorator]
    def value(self) -> None:
        """Value the sites as the config says."""
        run = RunConfig.of(self.config)
        here = Path(collab.workspace.get_run_dir(collab.fl_ctx.get_job_id()))
        run = replace(run, output=here / self.config.get("output", _OUTPUT))
        coordinator.coordinate(over(collab.clients, run), run)


def over(sites: Any, run: RunConfig) -> NvflareEngine:
    """The engine of a run over the sites of a job."""
    return NvflareEngine(
        sites,
        # FLARE has waited for its sites before the job began.
        replace(run.attendance, deadline=0.0),
        folder=run.output,
        resume=run.resume,
        patience=run.patience,
        simulation=run.simulation,
    )
