"""`Estimate`: the values of players, how sure they are, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.games.game import Game, Spent
from fedbary.notes import Note

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Estimate:
    """Values of the players of a game.

    Attributes
    ----------
    players : tuple of str
        Names, in the order of the values.
    values, standard_errors : arrays
        A standard error is 0 where the value is exact and NaN where it is unknown.
    evaluations, seconds : int and float
        Coalitions that this estimate had computed, beyond those the game knew before, and the time in the utility.
    converged : bool
        False if the game's budget ran out, or if a limit ended the run before the estimate was as steady as asked.
    permutations : int
        Permutations the values are a mean of; 0 where the method has none.
    notes : tuple of Note
        What a reader of the values should know.
    """

    players: tuple[str, ...]
    values: Floats
    standard_errors: Floats
    evaluations: int
    seconds: float
    converged: bool
    permutations: int = 0
    notes: tuple[Note, ...] = ()

    @classmethod
    def of(
        cls,
        game: Game,
        values: Floats,
        standard_errors: Floats,
        *,
        since: Spent,
        converged: bool = True,
        permutations: int = 0,
        notes: tuple[Note, ...] = (),
    ) -> Estimate:
        """Join values with the names of a game's players and with what it has spent ``since`` the start."""
        return cls(
            players=game.players,
            values=values,
            standard_errors=standard_errors,
            evaluations=game.evaluations - since.evaluations,
            seconds=game.seconds - since.seconds,
            converged=converged,
            permutations=permutations,
            notes=notes,
        )
