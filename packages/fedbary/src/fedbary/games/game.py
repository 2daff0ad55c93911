"""A cooperative game: players, the utility of every coalition of them, and what it may cost to compute it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedbary.checks import number, whole
from fedbary.errors import FedbaryError, SettingsError, wrong_parameter

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
        self._spent = Spent(0, 0.0)

    @classmethod
    def of(
        cls,
        players: Sequence[str],
        function: Callable[[frozenset[str]], float],
        *,
        max_evaluations: int | None = None,
        max_seconds: float | None = None,
    ) -> Game:
        """Make a game from a function of one coalition, given as the frozenset of its players' names."""
        names = np.array(_names(players), dtype=object)

        def utility(coalitions: Bools) -> list[float]:
            return [function(frozenset(names[row])) for row in coalitions]

        return cls(players, utility, max_evaluations=max_evaluations, max_seconds=max_seconds)

    def __len__(self) -> int:
        return len(self.players)

    @property
    def evaluations(self) -> int:
        """Number of coalitions computed so far."""
        return self._spent.evaluations

    @property
    def seconds(self) -> float:
        """Seconds spent in the utility so far."""
        return self._spent.seconds

    @property
    def spent(self) -> Spent:
        """Evaluations and seconds so far, to be compared with later."""
        return self._spent

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
        left = math.inf if self.max_evaluations is None else float(self.max_evaluations - self.evaluations)
        if self.max_seconds is None:
            return left
        if self.seconds >= self.max_seconds:
            return 0.0
        if self.seconds == 0.0:
            return min(left, 1.0)
        return min(left, max(1.0, (self.max_seconds - self.seconds) * self.evaluations / self.seconds))

    def value(self, coalition: Iterable[str] | Bools) -> float:
        """Return the utility of one coalition, given by its players' names or as N booleans."""
        if not isinstance(coalition, np.ndarray):
            members = set(coalition)
            if unknown := members - set(self.players):
                raise wrong_parameter("coalition", "Game.value", "players' names", sorted(unknown))
            coalition = np.array([name in members for name in self.players])
        return float(self.values(coalition[None])[0])

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
                raise BudgetSpent(
                    "games.budget-spent",
                    limits=self._limits(),
                    evaluations=self.evaluations,
                    seconds=float(self.seconds),
                )
            # One quick coalition (the empty one, often) says little of the others: at most double what is known.
            known = math.inf if self.max_seconds is None else max(1, self.evaluations)
            piece = slice(done, done + int(min(affordable, known, len(keys))))
            self._cache.update(zip(keys[piece], self._utilities(coalitions[piece]).tolist(), strict=True))
            done = min(piece.stop, len(keys))

    def _utilities(self, coalitions: Bools) -> Floats:
        start = perf_counter()
        found = self.utility(coalitions.copy())
        self._spent = Spent(self.evaluations + len(coalitions), self.seconds + perf_counter() - start)
        utilities = np.asarray(found, dtype=np.float64)
        if utilities.shape != (len(coalitions),):
            raise SettingsError("games.utility-shape", coalitions=len(coalitions), shape=str(utilities.shape))
        if (wrong := ~np.isfinite(utilities)).any():
            at = int(np.argmax(wrong))
            raise SettingsError(
                "games.utility-not-finite", got=str(utilities[at]), coalition=self._described(coalitions[at])
            )
        return utilities

    def _limits(self) -> str:
        limits = {"max_evaluations": self.max_evaluations, "max_seconds": self.max_seconds}
        return ", ".join(f"{name}={limit}" for name, limit in limits.items() if limit is not None)

    def _described(self, coalition: Bools) -> str:
        members = [name for name, inside in zip(self.players, coalition, strict=True) if inside]
        if not members:
            return "the empty coalition"
        more = f" and {len(members) - _NAMED_AT_MOST} more" if len(members) > _NAMED_AT_MOST else ""
        return f"the coalition of {', '.join(members[:_NAMED_AT_MOST])}{more}"


def _names(players: Sequence[str]) -> tuple[str, ...]:
    names = tuple(players)
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise wrong_parameter("players", "Game", "one name or more, all different", names)
    return names
