"""LAVA (Just et al. 2023): rows by the calibrated dual potential of transport between labelled data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from fedbary.checks import number, whole
from fedbary.data.table import Table
from fedbary.errors import wrong_parameter
from fedbary.space.encode import features
from fedbary.space.labels import class_names
from fedbary.space.options import Space
from fedbary.transport import solve
from fedbary.transport.simplex import network_simplex
from fedbary.transport.solve import cost_matrix
from fedbary.valuation.rows import calibrated_gradient, row_frame
from fedbary_lab.baselines.classifiers import class_schema
from fedbary_lab.transport.sinkhorn import sinkhorn

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


def lava_values(
    table: Table,
    reference: Table,
    *,
    solver: Literal["sinkhorn", "exact"] = "sinkhorn",
    epsilon: float = 0.1,
    class_rows: int = 500,
    space: Space | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Value each row by minus the calibrated gradient of the transport cost to the reference.

    The cost between a row (x, y) and a reference row (x', y') is ‖x − x'‖² + W₂²(y, y'), where W₂(y, y') is the
    exact Wasserstein distance between the features of the table's class y and those of the reference's class y';
    a class that only one of them has is an ordinary case. The calibrated gradient of row l is its dual potential
    f_l minus the mean of the others' (Just et al. 2023, eq. 1), without debiasing. It needs both tables in one
    place.

    Parameters
    ----------
    table, reference : Table
        The rows to value, and the validation rows.
    solver : {"sinkhorn", "exact"}
        ``sinkhorn`` adds ε·KL(π | a ⊗ b) to the cost, as the published code does, and is solved to convergence,
        as the published code is not; ``exact`` is the network simplex, whose potentials need not be unique.
    epsilon : float
        ε, in the unit of the cost; not used by ``exact``. geomloss, which the published code calls, halves costs:
        its problem for blur² = 0.1 is the one for ``epsilon=0.2`` here, with half the values.
    class_rows : int
        Most rows of a class that enter W₂(y, y'); larger classes are sampled.
    space : Space, optional
        How features are scaled; all of them are kept unless it says otherwise.
    seed : int
        Which rows of large classes are sampled.

    Returns
    -------
    DataFrame
        ``calibrated_gradient``, which is higher for worse rows, and ``value`` = −calibrated_gradient. Values sum
        to zero.

    Examples
    --------
    >>> import fedbary as fb
    >>> from fedbary_lab.baselines import lava_values
    >>> digits = fb.datasets.load("digits")
    >>> spoilt, mask = fb.corruptions.flip_labels(digits.test, 0.1, seed=0)
    >>> value = lava_values(spoilt, digits.train)["value"].to_numpy()
    >>> bool(value[mask].mean() < 0 < value[~mask].mean())
    True
    """
    if solver not in ("sinkhorn", "exact"):
        raise wrong_parameter("solver", "lava_values", "'sinkhorn' or 'exact'", solver)
    number(epsilon, "epsilon", "lava_values")
    whole(class_rows, "class_rows", "lava_values", least=1)
    schema = class_schema(reference, space)
    costs = labelled_costs(
        features(table, schema),
        class_names(table.labels),
        features(reference, schema),
        class_names(reference.labels),
        class_rows=class_rows,
        seed=seed,
    )
    a, b = np.full(len(table), 1.0 / len(table)), np.full(len(reference), 1.0 / len(reference))
    if solver == "exact":
        potential = network_simplex(costs, a, b).source_potential
    else:
        potential = sinkhorn(costs, a, b, epsilon=epsilon).source_potential
    gradient = calibrated_gradient(potential)
    return row_frame(table.row_names, -gradient, calibrated_gradient=gradient)


def labelled_costs(
    X: Floats, own: NDArray[np.str_], Y: Floats, truth: NDArray[np.str_], *, class_rows: int = 500, seed: int = 0
) -> Floats:
    """‖x − x'‖² + W₂²(y, y') for all pairs of rows."""
    rng = np.random.default_rng(seed)
    own_classes, own_codes = np.unique(own, return_inverse=True)
    true_classes, true_codes = np.unique(truth, return_inverse=True)
    ours = [_some(X[own_codes == code], class_rows, rng) for code in range(len(own_classes))]
    theirs = [_some(Y[true_codes == code], class_rows, rng) for code in range(len(true_classes))]
    between = np.array([[solve(left, right, p=2).cost for right in theirs] for left in ours])
    costs = cost_matrix(X, Y, 2)
    costs += between[own_codes][:, true_codes]
    return costs


def _some(rows: Floats, most: int, rng: np.random.Generator) -> Floats:
    return rows if len(rows) <= most else rows[np.sort(rng.choice(len(rows), most, replace=False))]
