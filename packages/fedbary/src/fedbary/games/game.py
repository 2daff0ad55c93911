"""A cooperative game: players, the utility of every coalition of them, what it may cost; and what they are worth."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedbary.checks import number, whole
from fedbary.errors import FedbaryError, SettingsError, wrong_parameter
from fedbary.notes import Note

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

# Of a coalition of many players, an error message names this many.
_NAMED_AT_MOST = 6


class BudgetSpent(FedbaryError):  # noqa: N818 - it ends an estimate, it is not a mistake
    """A game's evaluations or seconds are used up; everything computed before stays in its cache."""


class Spent(NamedTuple):
    """What a game has cost so far: utilities computed, and seconds in them."""

    evaluations: int
    seconds: float


class Game:
    """Players and a utility of coalitions; each coalition is computed once and counted.

    Parameters
    ----------
    players : sequence of str
        Their names, all different.
    utility : callable
        Takes a boolean array of shape ``(B, N)``, one coalition per row, and returns ``B`` finite numbers: it can
        train or test many coalitions at once. For a function of one coalition, see `Game.of`.
    max_evaluations : int, optional
        Most coalitions to compute; when they are used up, asking for another raises `BudgetSpent`.
    max_seconds : float, optional
        Most seconds to spend in the utility. It cannot be interrupted, so a batch is then given to it in pieces
        that should fit by its speed so far, at least one coalition at a time.
    """

    def __init__(
        self,
        players: Sequence[str],
        utility: Callable[[Bools], ArrayLike],
        *,
        max_evaluations: int | None = None,
        max_seconds: float | None = None,
    ) -> None:
        self.players = _names(players)
        self.utility = utility
        if max_evaluations is not None:
            max_evaluations = whole(max_evaluations, "max_evaluations", "Game", least=0)
        if max_seconds is not None:
            max_seconds = number(max_seconds, "max_seconds", "Game", zero=True)
        self.max_evaluations, self.max_seconds = max_evaluations, max_seconds
        self._cache: dict[bytes, float] = {}
        self.spent = Spent(0, 0.0)

    @classmethod
    def of(cls, players: Sequence[str], function: Callable[[frozenset[str]], float], **budget: Any) -> Game:
        """Make a game from a function of one coalition, given as the frozenset of its players' names."""
        names = np.array(_names(players), dtype=object)
        return cls(players, lambda coalitions: [function(frozenset(names[row])) for row in coalitions], **budget)

    def __len__(self) -> int:
        return len(self.players)

    @property
    def evaluations(self) -> int:
        """Number of coalitions computed so far."""
        return self.spent.evaluations

    @property
    def grand(self) -> float:
        """v(N), the utility of all players together."""
        return float(self.values(np.ones((1, len(self)), dtype=bool))[0])

    @property
    def empty(self) -> float:
        """v(∅), the utility without any player."""
        return float(self.values(np.zeros((1, len(self)), dtype=bool))[0])

    @property
    def total(self) -> float:
        """v(N) − v(∅), what there is to share out; both are computed in one batch."""
        grand, empty = self.values(np.array([[True], [False]]).repeat(len(self), axis=1))
        return float(grand - empty)

    def affordable(self) -> float:
        """How many more coalitions the budget is expected to pay for; infinite without a budget."""
        (evaluations, seconds), most = self.spent, self.max_seconds
        left = math.inf if self.max_evaluations is None else float(self.max_evaluations - evaluations)
        if most is None:
            return left
        if seconds >= most:
            return 0.0
        return min(left, max(1.0, (most - seconds) * evaluations / seconds) if seconds > 0.0 else 1.0)

    def values(self, coalitions: Bools) -> Floats:
        """Return the utilities of ``(B, N)`` coalitions; those not met before are computed, each once.

        Raises
        ------
        BudgetSpent
            If not all of them could be paid for; those that could are in the cache.
        """
        keys = self._keys(coalitions)
        fresh: dict[bytes, int] = {}
        for row, key in enumerate(keys):
            if key not in self._cache:
                fresh.setdefault(key, row)
        if fresh:
            self._compute(list(fresh), coalitions[list(fresh.values())])
        return np.array([self._cache[key] for key in keys], dtype=np.float64)

    def known_values(self, coalitions: Bools) -> Floats:
        """Return the utilities of ``(B, N)`` coalitions as far as they were computed before, NaN for the others."""
        return np.array([self._cache.get(key, math.nan) for key in self._keys(coalitions)], dtype=np.float64)

    def known_coalitions(self) -> Bools:
        """Return all coalitions computed so far, as ``(B, N)`` booleans."""
        packed = np.frombuffer(b"".join(self._cache), dtype=np.uint8).reshape(len(self._cache), -(-len(self) // 8))
        return np.unpackbits(packed, axis=1, count=len(self)).astype(bool)

    def _keys(self, coalitions: Bools) -> list[bytes]:
        if coalitions.dtype != np.bool_ or coalitions.ndim != 2 or coalitions.shape[1] != len(self):
            raise SettingsError(
                "settings.parameter",
                name="coalitions",
                owner="Game.values",
                expected=f"a boolean array of shape (B, {len(self)}), one column per player",
                got=f"{coalitions.dtype} of shape {coalitions.shape}",
            )
        packed = np.packbits(coalitions, axis=1)
        raw, width = packed.tobytes(), packed.shape[1]
        return [raw[at : at + width] for at in range(0, len(raw), width)]

    def _compute(self, keys: list[bytes], coalitions: Bools) -> None:
        done = 0
        while done < len(keys):
            affordable = self.affordable()
            if affordable < 1:
                limits = {"max_evaluations": self.max_evaluations, "max_seconds": self.max_seconds}
                said = ", ".join(f"{name}={limit}" for name, limit in limits.items() if limit is not None)
                evaluations, seconds = self.spent
                raise BudgetSpent("games.budget-spent", limits=said, evaluations=evaluations, seconds=float(seconds))
            # One quick coalition (the empty one, often) says little of the others: at most double what is known.
            known = math.inf if self.max_seconds is None else max(1, self.evaluations)
            piece = slice(done, done + int(min(affordable, known, len(keys))))
            self._cache.update(zip(keys[piece], self._utilities(coalitions[piece]).tolist(), strict=True))
            done = min(piece.stop, len(keys))

    def _utilities(self, coalitions: Bools) -> Floats:
        start = perf_counter()
        found = self.utility(coalitions.copy())
        self.spent = Spent(self.evaluations + len(coalitions), self.spent.seconds + perf_counter() - start)
        utilities = np.asarray(found, dtype=np.float64)
        if utilities.shape != (len(coalitions),):
            raise SettingsError("games.utility-shape", coalitions=len(coalitions), shape=str(utilities.shape))
        if (wrong := ~np.isfinite(utilities)).any():
            at = int(np.argmax(wrong))
            members = [name for name, inside in zip(self.players, coalitions[at], strict=True) if inside]
            more = f" and {len(members) - _NAMED_AT_MOST} more" if len(members) > _NAMED_AT_MOST else ""
            named = (
                f"the coalition of {', '.join(members[:_NAMED_AT_MOST])}{more}" if members else "the empty coalition"
            )
            raise SettingsError("games.utility-not-finite", got=str(utilities[at]), coalition=named)
        return utilities


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
        False, with a note, if the game's budget ran out or a limit ended the run before the values were steady.
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
        notes: tuple[Note, ...] = (),
        permutations: int = 0,
    ) -> Estimate:
        """Join values with the names of a game's players and with what it has spent ``since`` the start."""
        evaluations, seconds = game.spent.evaluations - since.evaluations, game.spent.seconds - since.seconds
        return cls(game.players, values, standard_errors, evaluations, seconds, not notes, permutations, notes)


def _names(players: Sequence[str]) -> tuple[str, ...]:
    names = tuple(players)
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise wrong_parameter("players", "Game", "one name or more, all different", names)
    return names
