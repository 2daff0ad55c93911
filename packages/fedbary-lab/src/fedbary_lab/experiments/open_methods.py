"""An experiment's row methods by name, and every other one that `fedbary_lab` knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from fedbary_lab.baselines.row_methods import ROW_METHODS

Entry = TypeVar("Entry")


class OpenMethods(dict[str, Entry]):
    """The methods that an experiment compares; a name that is not among them is a row method, made to fit.

    Parameters
    ----------
    methods : mapping
        What is compared unless somebody asks for others.
    fitted : callable
        The name of a row method → what this experiment calls.

    Examples
    --------
    >>> methods = OpenMethods({"oracle": 1.0}, len)
    >>> methods["oracle"], methods["lava"], "lava" in methods, "lawa" in methods, list(methods)
    (1.0, 4, True, False, ['oracle'])
    """

    def __init__(self, methods: Mapping[str, Entry], fitted: Callable[[str], Entry]) -> None:
        super().__init__(methods)
        self._fitted = fitted

    def __missing__(self, name: str) -> Entry:
        if name not in ROW_METHODS:
            raise KeyError(name)
        return self._fitted(name)

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in ROW_METHODS

    def offered(self) -> list[str]:
        """All names, those of other row methods included."""
        return list(dict.fromkeys([*self, *ROW_METHODS.offered()]))
