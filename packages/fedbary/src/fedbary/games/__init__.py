"""Cooperative games: utilities of coalitions computed once and counted, and the values of their players.

`Game` holds players, a utility for batches of coalitions and a budget. `exact_shapley`, `leave_one_out` and
`permutation_shapley` each make an `Estimate` of it, which says how sure it is and what it cost.
"""

from fedbary.games.exact import exact_shapley, fitted_values, leave_one_out
from fedbary.games.game import BudgetSpent, Estimate, Game, Spent
from fedbary.games.permutations import (
    History,
    MaxPermutations,
    RelativeChange,
    StandardErrorBelow,
    Stopping,
    permutation_shapley,
)

__all__ = [
    "BudgetSpent",
    "Estimate",
    "Game",
    "History",
    "MaxPermutations",
    "RelativeChange",
    "Spent",
    "StandardErrorBelow",
    "Stopping",
    "exact_shapley",
    "fitted_values",
    "leave_one_out",
    "permutation_shapley",
]
