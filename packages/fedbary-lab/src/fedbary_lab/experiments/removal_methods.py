"""The methods of `point_removal`: each from a draw of rows to one value for each row of its client."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import fedbary as fb
from fedbary_lab.baselines.pydvl_values import ame_values, banzhaf_values, beta_shapley_values, tmc_values
from fedbary_lab.baselines.row_methods import ROW_METHODS
from fedbary_lab.experiments.federations import Spoilt
from fedbary_lab.experiments.open_methods import OpenMethods
from fedbary_lab.paper import published

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Draw:
    """A spoilt client, others that are spoilt alike, and the server's rows."""

    client: Spoilt
    others: tuple[fb.Table, ...]
    reference: fb.Table
    test: fb.Table


Values = Callable[[Draw, int], Floats]


def _protocol(protocol: Callable[[], Any], **options: Any) -> Values:
    def values(draw: Draw, seed: int) -> Floats:
        engine = fb.LocalEngine(workers=1)
        tables = {"client": draw.client.table} | {f"other_{i + 1}": table for i, table in enumerate(draw.others)}
        reference = None if draw.others else draw.reference
        result = fb.value(tables, reference, protocol=protocol(), seed=seed, engine=engine, **options)
        return result.rows("client")["value"].to_numpy(dtype=float)

    return values


def _baseline(compute: Callable[..., pd.DataFrame], **options: Any) -> Values:
    def values(draw: Draw, seed: int) -> Floats:
        return compute(draw.client.table, draw.reference, seed=seed, **options)["value"].to_numpy(dtype=float)

    return values


# With the defaults one of these cells takes up to ten minutes.
PERMUTATIONS, SAMPLES, UPDATES, FEW = 10, 500, 4, fb.Space(projection=32)
LEAN: dict[str, Values] = {
    "banzhaf": _baseline(banzhaf_values, samples=SAMPLES, space=FEW),
    "tmc": _baseline(tmc_values, permutations=PERMUTATIONS, space=FEW),
    "ame": _baseline(ame_values, updates=UPDATES, space=FEW),
    "beta-shapley": _baseline(beta_shapley_values, permutations=PERMUTATIONS, space=FEW),
}
_COMPARED: dict[str, Values] = {
    "random": lambda draw, _: np.zeros(len(draw.client.mask)),
    "oracle": lambda draw, _: -draw.client.mask.astype(float),
    "sketch": _protocol(fb.Sketch),
    "cards": _protocol(fb.Cards),
    "interpolation": _protocol(fb.Interpolation),
    "published": _protocol(lambda: published(gradient="eta")),
    **{name: _baseline(method.compute) for name, method in ROW_METHODS.items() if name not in LEAN},
    **LEAN,
}
METHODS = OpenMethods(_COMPARED, lambda name: _baseline(ROW_METHODS[name].compute))
# What the paper compares; then what is compared in its setting here.
RIVALS = ("lava", "published", "row-loo", "knn-shapley")
COMPARED = ("random", "oracle", *RIVALS, "interpolation", "sketch", "cards")
