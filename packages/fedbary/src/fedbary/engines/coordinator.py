"""The coordinator's side of a networked run: from its config to the folder with the result and its report."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fedbary.engines.events import NAME as EVENTS
from fedbary.engines.events import EventLog
from fedbary.engines.run_outcome import REPORT, RunOutcome, failure_recorded
from fedbary.engines.session import run_session
from fedbary.protocols.cards import Cards
from fedbary.views.result_tables import valuation_text

if TYPE_CHECKING:
    from pathlib import Path

    from fedbary.data.table import Table
    from fedbary.engines.networked import NetworkedEngine
    from fedbary.engines.run_config import RunConfig
    from fedbary.valuation.result import Valuation


@contextmanager
def preparing(folder: Path, engine: str, run_id: str | None = None) -> Iterator[None]:
    """Let the folder and its events say what fails before there is an engine, such as a wrong run config."""
    with (
        failure_recorded(folder, lambda: RunOutcome(engine=engine, run=run_id)),
        EventLog(folder / EVENTS, append=True).until_stopped(),
    ):
        yield


def coordinate(engine: NetworkedEngine, run: RunConfig) -> Valuation:
    """Value the nodes as the run config says; the folder has the result and its report, the screen the verdict.

    How the run ended is in the folder, too, whatever happens (`fedbary.engines.run_outcome`).
    """

    def begun() -> RunOutcome:
        return RunOutcome(engine=engine.name, run=engine.run_id, session=engine.session)

    with failure_recorded(run.output, begun):
        begun().save(run.output)
        result = valued(engine, run)
        result.save(run.output)
        result.report(run.output / REPORT)
        begun().ended(result).save(run.output)
    sys.stdout.write(valuation_text(result) + "\n")
    return result


def valued(engine: NetworkedEngine, run: RunConfig) -> Valuation:
    """The result of a run."""
    with EventLog(run.output / EVENTS, append=run.resume).until_stopped():
        reference = reference_of(run)
    return run_session(
        run.protocol,
        engine,
        reference=reference,
        space=run.space,
        rules=run.rules,
        seed=run.seed,
        require_card=run.require_card,
    )


def reference_of(run: RunConfig) -> Table | None:
    """The server's validation rows, if a run has any."""
    if run.reference is not None:
        from fedbary.data.files import read

        return read(run.reference, run.label, id=run.id)
    alone = isinstance(run.protocol, Cards) and not run.protocol.worth
    if run.simulation and not alone:
        from fedbary.guard.simulated_tables import reference_table

        return reference_table(run.simulation)
    return None
