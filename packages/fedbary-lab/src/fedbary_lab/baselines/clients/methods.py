"""All client-level methods by name."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from fedbary.checks import did_you_mean
from fedbary.errors import FedbaryError, SettingsError
from fedbary.satellites import Registry, first_line
from fedbary.valuation.clients import ClientScores
from fedbary_lab.baselines.clients.client_game import Setting
from fedbary_lab.baselines.clients.completed import comfedsv
from fedbary_lab.baselines.clients.gradients import cgsv, fedce, shapfed
from fedbary_lab.baselines.clients.reconstructed import (
    fedshapley,
    gtg,
    gtg_oti,
    gtg_ti,
    gtg_tib,
    mr,
    one_round,
    tmr,
)
from fedbary_lab.baselines.clients.retrained import datasv, exactfed, loo


@dataclass(frozen=True)
class Method:
    """A way to value clients: what it is called, what it does in a line, and whether it trains again."""

    name: str
    title: str
    does: str
    compute: Callable[..., ClientScores]
    retrains: bool = False

    @property
    def options(self) -> Mapping[str, float]:
        """The numbers that may be chosen, with their defaults: keywords of its function.

        Examples
        --------
        >>> dict(METHODS["tmr"].options)
        {'between': 0.01, 'decay': 1.0}
        """
        taken = inspect.signature(self.compute).parameters.values()
        chosen = [one for one in taken if one.kind is one.KEYWORD_ONLY and isinstance(one.default, int | float)]
        return {one.name: one.default for one in chosen}


_BUILT_IN: dict[str, Method] = {
    method.name: method
    for method in (
        Method("exactfed", "exactFed", "Shapley value, FedAvg retrained on every coalition", exactfed, retrains=True),
        Method("loo", "LOO", "utility lost without the client, retrained", loo, retrains=True),
        Method("datasv", "DataSV", "exactFed's game by truncated permutations (TMC)", datasv, retrains=True),
        Method("mr", "MR", "exact Shapley value of every round's models, summed", mr),
        Method("tmr", "TMR", "MR without rounds that change little", tmr),
        Method("or", "OR", "exact Shapley value of all updates at the end", one_round),
        Method("gtg", "GTG-Shapley", "MR by guided, truncated permutations", gtg),
        Method("gtg-ti", "GTG-Ti", "MR by permutations truncated within rounds", gtg_ti),
        Method("gtg-tib", "GTG-Tib", "MR by permutations truncated within and between rounds", gtg_tib),
        Method("gtg-oti", "GTG-OTi", "OR by permutations truncated within", gtg_oti),
        Method("fedshapley", "FedShapley", "MR among selected clients; permutations if over 14", fedshapley),
        Method(
            "fedshapley-gt",
            "FedShapley (group testing)",
            "MR among selected clients, by group testing",
            partial(fedshapley, how="group-testing"),
        ),
        Method("comfedsv", "ComFedSV", "MR, completed where clients were not selected", comfedsv),
        Method("cgsv", "CGSV", "cosine of a client's updates with everybody's; no test set", cgsv),
        Method("shapfed", "ShapFed", "the same per class, in the last layer; no test set", shapfed),
        Method("fedce", "FedCE", "how different a client is, and how badly the others do on its rows", fedce),
    )
}


def own_client_method(name: str, brought: Any, does: str = "") -> Method:
    """A method of somebody else: a function from a `Setting` to one value for each client, or to their scores."""
    if isinstance(brought, Method):
        return brought
    does = does or first_line(brought, "a method of your own")
    return Method(name, name, does, partial(_own_scores, name, brought))


def _own_scores(name: str, compute: Callable[[Setting], Any], setting: Setting) -> ClientScores:
    started = perf_counter()
    try:
        found = compute(setting)
        if isinstance(found, ClientScores):
            return found
        values = np.asarray(found, dtype=float)
    except FedbaryError:
        raise
    except Exception as error:  # a stranger's code, which may fail in any way
        raise SettingsError("research.own-method-failed", name=name, why=f"{type(error).__name__}: {error}") from error
    count = len(setting.clients)
    if values.shape != (count,):
        raise SettingsError("research.own-values-shape", name=name, got=str(values.shape), of="client", count=count)
    unknown = np.full(count, np.nan)
    return ClientScores(name, setting.clients, values, unknown, seconds=perf_counter() - started)


# Numbers that an option may be, in words and as a rule, where not all that are zero or above make sense.
_SENSE: dict[str, tuple[str, Callable[[float], bool]]] = {
    "decay": ("between 0 and 1", lambda found: 0.0 <= found <= 1.0),
    "epsilon": ("above zero", lambda found: found > 0.0),
    "delta": ("strictly between 0 and 1", lambda found: 0.0 < found < 1.0),
    "rank": ("at least 1", lambda found: found >= 1),
}

METHODS: Registry[Method] = Registry("fedbary.client_methods", _BUILT_IN, own_client_method)


def with_options(text: str) -> Method:
    """A method by its name and, behind ``@``, options that are not the defaults.

    Examples
    --------
    >>> with_options("tmr@decay=0.9").name
    'tmr@decay=0.9'
    """
    name, *choices = text.split("@")
    method = METHODS[name]
    given: dict[str, float] = {}
    for choice in choices:
        option, _, value = choice.partition("=")
        if not method.options:
            raise SettingsError("research.no-options", method=name, given=choice)
        if option not in method.options:
            known, guess = ", ".join(method.options), did_you_mean(option, method.options)
            raise SettingsError("research.no-such-option", method=name, option=option, guess=guess, known=known)
        given[option] = _number(name, option, value, method.options[option])
    return replace(method, name=text, compute=partial(method.compute, **given)) if given else method


def _number(method: str, option: str, value: str, default: float) -> float:
    expected, makes_sense = _SENSE.get(option, ("zero or above", lambda found: found >= 0.0))
    try:
        found = type(default)(value)
    except ValueError:
        found = math.nan
    if math.isfinite(found) and makes_sense(found):
        return found
    kind = "a whole number" if isinstance(default, int) else "a number"
    facts = {"expected": f"{kind}, {expected}", "got": value, "default": f"{default:g}"}
    raise SettingsError("research.wrong-option", method=method, option=option, **facts)
