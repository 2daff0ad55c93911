"""The coordinator's side of a FLARE job: asks the sites, runs the protocol, writes the result and its report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from nvflare.collab import collab
from nvflare.collab.api.exceptions import RunAborted

from fedbary.engines import coordinator
from fedbary.engines.coordinator import RunConfig
from fedbary_nvflare.engine import NvflareEngine

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
        name = str(collab.fl_ctx.get_job_id())
        output = Path(collab.workspace.get_run_dir(name)) / str(self.config.get("output") or _OUTPUT)
        with coordinator.preparing(output, NvflareEngine.name, name):
            run = replace(RunConfig.of(self.config), output=output)
            engine = over(collab.clients, run, name)
        try:
            coordinator.coordinate(engine, run)
        except KeyboardInterrupt as error:
            raise RunAborted from error


def over(sites: Any, run: RunConfig, name: str | None = None) -> NvflareEngine:
    """The engine of a run over the sites of a job; ``name`` is FLARE's for the job."""
    return NvflareEngine(
        sites,
        # FLARE has waited for its sites before the job began, and nobody joins later.
        replace(run.attendance, deadline=0.0, settle=0.0),
        folder=run.output,
        resume=run.resume,
        patience=run.patience,
        simulation=run.simulation,
        run_id=name,
    )
