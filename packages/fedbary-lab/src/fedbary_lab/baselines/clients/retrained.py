"""Methods that train again on coalitions of clients: exactFed, leave-one-out and DataSV."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from fedbary.errors import SettingsError
from fedbary.games import (
    Estimate,
    Game,
    MaxPermutations,
    RelativeChange,
    exact_shapley,
    leave_one_out,
    permutation_shapley,
)
from fedbary.valuation.clients import ClientScores
from fedbary_lab.baselines.clients.client_game import Budget, Setting, in_blocks, need, scores_of

# 2¹⁴ trainings take minutes with a linear model; every further client doubles that.
MOST_CLIENTS = 14
# As Ghorbani and Zou do it: running means that have moved by 5 % or less over the last hundred permutations.
_TMC_STOP = RelativeChange(0.05, window=100, least=100) | MaxPermutations(1000)


def exactfed(setting: Setting) -> ClientScores:
    """The original Shapley value: v(S) is the utility of FedAvg trained from θ⁰ on S alone; 2^N trainings."""
    if len(setting.clients) > MOST_CLIENTS:
        raise SettingsError("research.too-many-clients-to-train", clients=len(setting.clients), most=MOST_CLIENTS)
    return _played("exactfed", "exactFed", setting, exact_shapley)


def loo(setting: Setting) -> ClientScores:
    """Leave-one-out: v(N) − v(N∖i), N + 1 trainings."""
    return _played("loo", "LOO", setting, leave_one_out)


def datasv(setting: Setting, *, truncation: float = 0.001) -> ClientScores:
    """TMC-Shapley (Ghorbani & Zou 2019): exactFed's game by random permutations, truncated near v(N)."""
    solve = partial(permutation_shapley, seed=setting.seed, truncation=truncation, stop=_TMC_STOP)
    return _played("datasv", "DataSV", setting, solve)


def _played(method: str, title: str, setting: Setting, solve: Callable[[Game], Estimate]) -> ClientScores:
    """The scores of the game in which a coalition is worth what a model trained on it alone reaches."""
    need(setting.retrain, title, "retrain")

    def utility(coalitions: NDArray[np.bool_]) -> NDArray[np.float64]:
        assert setting.retrain is not None
        return setting.evaluate(setting.retrain(coalitions))

    budget = Budget.of(setting)
    game = budget.game(setting.clients, in_blocks(utility, setting.log.size))
    estimate = solve(game)
    budget.spent = game.evaluations
    return scores_of(method, setting, estimate, budget)
