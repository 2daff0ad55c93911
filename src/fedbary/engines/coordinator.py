"""The coordinator's side of a networked run: from its config to the folder with the result and its report."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from fedbary.engines.session import run_session
from fedbary.protocols.cards import Cards
from fedbary.views.result_tables import valuation_text

if TYPE_CHECKING:
    from fedbary.data.table import Table
    from fedbary.engines.networked import NetworkedEngine
    from fedbary.engines.run_config import RunConfig
    from fedbary.valuation.result import Valuation


def coordinate(engine: NetworkedEngine, run: RunConfig) -> Valuation:
    """Value the nodes as the run config says; the folder has the result and its report, the screen the verdict."""
    result = valued(engine, run)
    result.save(run.output)
    result.report(run.output / "report.html")
    sys.stdout.write(valuation_text(result) + "\n")
    return result


def valued(engine: NetworkedEngine, run: RunConfig) -> Valuation:
    """The result of a run."""
    return run_session(run.protocol, engine, reference=_reference(run), space=run.space, rules=run.rules, seed=run.seed)


def _reference(run: RunConfig) -> Table | None:
    if run.reference is not None:
        from fedbary.data.files import read

        return read(run.reference, run.label, id=run.id)
    alone = isinstance(run.protocol, Cards) and not run.protocol.worth
    if run.simulation and not alone:
        from fedbary.guard.simulated_tables import reference_table

        return reference_table(run.simulation)
    return None
