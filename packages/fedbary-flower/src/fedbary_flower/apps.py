"""`value_nodes`: a valuation inside any server app of Flower."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from flwr.serverapp import Grid

from fedbary.api import value
from fedbary.engines.events import ProgressLines
from fedbary.engines.networked import Patience
from fedbary.engines.nodes import Attendance
from fedbary.errors import wrong_parameter
from fedbary_flower.engine import FlowerEngine
from fedbary_flower.simulation import is_simulated_grid

if TYPE_CHECKING:
    from fedbary.engines.events import Listener
    from fedbary.protocols.messages import Settings
    from fedbary.valuation.result import Valuation

__all__ = ["value_nodes"]


def value_nodes(
    grid: Grid,
    reference: Any = None,
    *,
    label: str | None = None,
    protocol: Settings | str | None = None,
    nodes: int | Iterable[str] | None = None,
    output: str | Path | None = None,
    seed: int = 0,
    timeout: float = 600.0,
    join_deadline: float = 120.0,
    progress: bool | Listener = True,
    **options: Any,
) -> Valuation:
    """Value the nodes of a grid, inside any ``ServerApp``, whose client app `answers`.

    Parameters
    ----------
    grid : Grid
        Flower's.
    reference : optional
        Validation rows at the server: ``(X, y)``, a frame, a `Table` or what else `fedbary.value` takes. Without them
        nodes are compared with each other.
    label : str, optional
        The reference's label column.
    protocol : optional
        As for `fedbary.value`.
    nodes : int or names, optional
        For how many nodes to wait, or for which, by their registered names. Default: everybody who is online.
    output : path, optional
        A folder for the result, its report and ``events.jsonl``, which ``fedbary watch`` follows.
    seed : int
        Of the server.
    timeout, join_deadline : float
        Seconds for an answer, and for the nodes to come.
    progress : bool or callable
        Whether lines on standard output say how far it is; or a listener to events.
    **options
        ``space``, ``fdr`` and ``rule`` of `fedbary.value`.

    Returns
    -------
    Valuation
        ``result.nodes()`` are the ids of the nodes to train with, and `SelectedNodes` and `weighted` take the result.

    Examples
    --------
    In ``server_app.py`` of a Flower app, before the strategy starts::

        result = value_nodes(grid, (X_valid, y_valid))
        SelectedNodes(strategy, result).start(grid, initial_arrays, num_rounds=3)
    """
    with ExitStack() as scope:
        folder = Path(scope.enter_context(TemporaryDirectory()) if output is None else output)
        engine = FlowerEngine(
            grid,
            _attendance(nodes, join_deadline),
            folder=folder,
            patience=Patience(timeout),
            # Simulated nodes call themselves by their partition: nobody registered them by name.
            simulation={"seed": seed, "run_seed": seed} if is_simulated_grid(grid) else None,
        )
        listener = ProgressLines() if progress is True else progress or None
        result = value(
            None, reference, label=label, protocol=protocol, seed=seed, engine=engine, progress=listener, **options
        )
        if output is not None:
            result.save(folder)
            result.report(folder / "report.html")
    return result


def _attendance(nodes: int | Iterable[str] | None, deadline: float) -> Attendance:
    if nodes is None or isinstance(nodes, int):
        return Attendance(nodes, deadline=deadline)
    if isinstance(nodes, str):
        raise wrong_parameter("nodes", "value_nodes", "a number or a list of names", nodes)
    return Attendance(expected=tuple(nodes), deadline=deadline)
