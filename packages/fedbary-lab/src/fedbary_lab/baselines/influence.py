"""Influence functions (Koh & Liang 2017) of rows on the reference's loss, through pyDVL and torch."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary.data.table import Table
from fedbary.errors import SettingsError
from fedbary.space.options import Space
from fedbary.valuation.rows import row_frame
from fedbary_lab.baselines.pydvl_values import RowGame, load_pydvl

if TYPE_CHECKING:
    import pandas as pd

# The Hessian is a dense square matrix of so many columns: 800 MB in double precision.
_MOST_WEIGHTS = 10_000


def influence_values(table: Table, reference: Table, *, space: Space | None = None, seed: int = 0) -> pd.DataFrame:
    """Value each row by how much, to first order, the reference's log-loss would rise without it.

    The model is a logistic regression on all rows, with C as in `logistic_values` and a penalised intercept. With H
    the Hessian of its objective, the value of row l of n is mean_t ⟨∇loss_t, H⁻¹ ∇loss_l⟩/n over the reference's rows
    t: pyDVL's up-weighting influence, whose sign is already ours (up-weighting a row of positive influence lowers the
    loss). H is inverted directly, in double precision. It is the first-order estimate of
    ``row_loo(utility="log-loss")`` without its refits.

    Parameters
    ----------
    table, reference : Table
        The rows to value, and the validation rows; a class that only the reference has is known to the model, with no
        row of its own.
    space : Space, optional
        How features are scaled; all of them are kept unless it says otherwise.
    seed : int
        Which rows form a fold when C is chosen.

    Returns
    -------
    DataFrame
        One row per row of ``table`` with its ``value``.
    """
    pydvl = load_pydvl("pydvl.influence.torch")
    try:
        import torch
    except ImportError as error:
        raise SettingsError("research.torch-missing-for-influence") from error
    from torch.utils.data import DataLoader, TensorDataset

    game = RowGame.of(table, reference, space, seed)
    classes = int(max(game.codes.max(), game.truth.max())) + 1
    X, R = (torch.from_numpy(np.column_stack([part, np.ones(len(part))])) for part in (game.X, game.R))
    if classes * X.shape[1] > _MOST_WEIGHTS:
        raise SettingsError(
            "research.too-many-weights-to-invert",
            weights=int(classes * X.shape[1]),
            most=_MOST_WEIGHTS,
            projection=max(1, _MOST_WEIGHTS // classes - 1),
        )
    codes, truth = torch.from_numpy(game.codes), torch.from_numpy(game.truth)
    penalty = 1.0 / (game.strength * len(table))
    model = _fitted(X, codes, classes, penalty)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        influence = pydvl.DirectInfluence(model, torch.nn.functional.cross_entropy, regularization=penalty)
        influence = influence.fit(DataLoader(TensorDataset(X, codes), batch_size=len(X)))
        effect = influence.influences(R, truth, X, codes).mean(dim=0)
    return row_frame(table.row_names, effect.detach().numpy() / len(table))


def _fitted(X: Any, codes: Any, classes: int, penalty: float) -> Any:
    """A linear softmax model at the minimum of mean log-loss + penalty·‖weights‖²/2."""
    import torch

    model = torch.nn.Linear(X.shape[1], classes, bias=False, dtype=torch.float64)
    torch.nn.init.zeros_(model.weight)
    search = torch.optim.LBFGS(
        model.parameters(),
        max_iter=2000,
        tolerance_grad=1e-9,
        tolerance_change=0.0,
        history_size=20,
        line_search_fn="strong_wolfe",
    )

    def objective() -> Any:
        search.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(X), codes) + penalty / 2.0 * (model.weight**2).sum()
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    search.step(objective)  # type: ignore[no-untyped-call]
    return model
