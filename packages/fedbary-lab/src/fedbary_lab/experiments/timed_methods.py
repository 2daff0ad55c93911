"""How long a method takes, in seconds of one core, or how long it would take."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import TypeVar

import numpy as np

from fedbary.errors import SettingsError
from fedbary_lab.baselines.clients import METHODS, Setting
from fedbary_lab.experiments.cells import Record

Result = TypeVar("Result")

# What takes less than this part of one's patience is done several times, and the quickest counts.
_QUICK, _TIMES = 0.025, 5
# Coalitions that are tried to see what one costs: one, and if that is quick, many at once.
_QUICK_ONE, _MANY = 1.0, 64
# Permutations that the sampled methods make at the least.
LEAST_PERMUTATIONS = {"gtg": 31, "datasv": 101}
# They play every coalition, and refuse to where there are too many.
_REFUSED = ("research.too-many-clients-to-train", "research.too-many-clients-to-evaluate")


def seconds_of(call: Callable[[], Result], *, patience: float) -> tuple[Result, float]:
    """What a call gives, and its seconds of one core: other programs on the machine do not count."""
    times: list[float] = []
    while not times or (sum(times) < _QUICK * patience and len(times) < _TIMES):
        started = process_time()
        found = call()
        times.append(process_time() - started)
    return found, min(times)


def timed_method(name: str, setting: Setting, *, rounds: int, patience: float) -> Record:
    """Seconds and evaluations of a method; ``estimated`` where its time was up, or where it refuses so many clients.

    The setting's budget is the ``patience``. What is estimated is the time of an evaluation times the evaluations that
    the method needs; a method of one's own, of which nobody knows how many that are, has the time that it was given.
    """
    each: float
    made = 0.0
    try:
        found, seconds = seconds_of(lambda: METHODS[name].compute(setting), patience=patience)
        if found.converged or found.seconds < patience or needed(name, len(setting.clients), rounds) is None:
            return {"method": name, "seconds": seconds, "evaluations": found.evaluations, "estimated": False}
        made = float(found.evaluations)
        each = seconds / max(made, 1.0)
    except SettingsError as error:
        if error.code not in _REFUSED:
            raise
        each = _seconds_of_one(name, setting, patience)
    evaluations = max(needed(name, len(setting.clients), rounds) or 0.0, made)
    return {"method": name, "seconds": each * evaluations, "evaluations": evaluations, "estimated": True}


def needed(name: str, clients: int, rounds: int) -> float | None:
    """Evaluations that a method needs: all coalitions, or the least permutations without truncation; None: who knows.

    Examples
    --------
    >>> needed("exactfed", 5, 10), needed("mr", 5, 10), needed("gtg", 50, 10), needed("datasv", 50, 10)
    (32.0, 320.0, 15500.0, 5050.0)
    """
    if name not in ("exactfed", "mr", *LEAST_PERMUTATIONS):
        return None
    games = 1 if METHODS[name].retrains else rounds
    return games * min(2.0**clients, float(LEAST_PERMUTATIONS.get(name, np.inf)) * clients)


def _seconds_of_one(name: str, setting: Setting, patience: float) -> float:
    """Time of one evaluation, of a coalition of half of the clients."""
    clients = len(setting.clients)
    half = np.random.default_rng(setting.seed).random((_MANY, clients)).argsort(axis=1) < clients // 2

    def evaluate(count: int) -> None:
        coalitions = half[:count]
        if METHODS[name].retrains:
            assert setting.retrain is not None
            setting.evaluate(setting.retrain(coalitions))
        else:
            setting.evaluate(coalitions / coalitions.sum(axis=1, keepdims=True) @ setting.log.rounds[0].models)

    _, one = seconds_of(lambda: evaluate(1), patience=patience)
    return one if one > _QUICK_ONE else seconds_of(lambda: evaluate(_MANY), patience=patience)[1] / _MANY
