"""Cooperative games: utilities of coalitions computed once and counted, and the values of their players.

`Game` holds players, a utility for batches of coalitions and a budget. `exact_shapley`, `leave_one_out` and
`permutation_shapley` each make an `Estimate` of it, which says how sure it is and what it cost.
"""

from fedbary.games.estimate import Estimate
from fedbary.games.exact import exact_shapley, leave_one_out
from fedbary.games.fitted import fitted_values
from fedbary.games.game import BudgetSpent, Game, Spent
from fedbary.games.history import History
from fedbary.games.permutations import permutation_shapley
from fedbary.games.stopping import MaxPermutations, RelativeChange, StandardErrorBelow, Stopping

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
