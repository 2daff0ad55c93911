"""Methods of your own beside those of other people: in comparisons, on the command line and in experiments."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from fedbary_lab.baselines.clients.methods import METHODS, own_client_method
from fedbary_lab.baselines.row_methods import ROW_METHODS, own_row_method
from fedbary_lab.comparison.protocols import PROTOCOL_METHODS

if TYPE_CHECKING:
    from fedbary.data.table import Table
    from fedbary.valuation.clients import ClientScores
    from fedbary_lab.baselines.clients import Setting


def register_row_method(name: str, compute: Callable[[Table, Table, int], ArrayLike], *, does: str = "") -> None:
    """Let `fedbary.compare_rows` and the experiments know a method of your own that values rows.

    An installed package offers one by an entry point of the group ``fedbary.row_methods``: the name, and the function.

    Parameters
    ----------
    name : str
        What it is called; a name of yours can be used again, one of this package cannot.
    compute : callable
        (table, reference, seed) → one value for each row of the table; higher is better.
    does : str, optional
        What it does, in a line. Default: the first line of the function's description.

    Examples
    --------
    >>> import fedbary as fb
    >>> import fedbary_lab
    >>> from fedbary_lab.baselines import ROW_METHODS
    >>> fedbary_lab.register_row_method("first-best", lambda table, reference, seed: range(len(table), 0, -1))
    >>> rows = fb.Table.from_arrays([[0.0], [1.0], [5.0]], ["a", "b", "b"])
    >>> fb.compare_rows({"ann": rows}, rows, methods=["first-best"]).to_frame()["value"].tolist()
    [3.0, 2.0, 1.0]
    >>> ROW_METHODS.forget("first-best")
    """
    ROW_METHODS.register(name, own_row_method(name, compute, does), taken=PROTOCOL_METHODS)


def register_client_method(
    name: str, compute: Callable[[Setting], ArrayLike | ClientScores], *, does: str = ""
) -> None:
    """Let `fedbary.compare_clients` and the experiments know a method of your own that values clients.

    An installed package offers one by an entry point of the group ``fedbary.client_methods``: the name, and the
    function.

    Parameters
    ----------
    name : str
        What it is called; a name of yours can be used again, one of this package cannot.
    compute : callable
        From a `fedbary_lab.baselines.clients.Setting` (the log of a training run, ways to evaluate and to train
        again) to one value for each of its clients; higher is better.
    does : str, optional
        What it does, in a line. Default: the first line of the function's description.

    Examples
    --------
    >>> import fedbary_lab
    >>> from fedbary_lab.baselines.clients import METHODS
    >>> fedbary_lab.register_client_method("by-rows", lambda setting: setting.log.counts)
    >>> METHODS["by-rows"].does
    'a method of your own'
    >>> METHODS.forget("by-rows")
    """
    METHODS.register(name, own_client_method(name, compute, does), taken=PROTOCOL_METHODS)
