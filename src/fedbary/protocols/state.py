"""States inside states: a part is kept under a prefix of its keys."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fedbary.errors import ProtocolError
from fedbary.protocols.messages import State, array_text


def under(prefix: str, part: State) -> dict[str, np.ndarray]:
    """A part with the prefix before its keys, to be joined with others.

    Examples
    --------
    >>> import numpy as np
    >>> from fedbary.protocols.state import below, under
    >>> below(under("party.", {"rows": np.array(3)}), "party.")
    {'rows': array(3)}
    """
    return {f"{prefix}{key}": array for key, array in part.items()}


def below(state: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """The part of a state that was stored under a prefix."""
    return {key.removeprefix(prefix): array for key, array in state.items() if key.startswith(prefix)}


def require_same_rows(state: State, data: str, origin: str) -> None:
    """Refuse to go on with another table than the one whose digest is in the state."""
    if array_text(state["data"]) != data:
        raise ProtocolError(f"{origin or 'the table'}: the rows changed since the run was interrupted: start it anew.")
