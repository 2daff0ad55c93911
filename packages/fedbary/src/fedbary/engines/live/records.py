"""Lines of ``events.jsonl`` as events; what is not one of ours is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fedbary.engines.events import Event

LONGEST_TEXT = 1000
_MOST = 10**9
_LATEST = 1e11  # seconds; later than any calendar that Python knows the days of


@dataclass(frozen=True)
class Logged:
    """An event and when it happened, in seconds since 1970."""

    time: float
    event: Event


def logged(line: bytes) -> Logged | None:
    """The event in a line; None where the line is broken or nothing that an engine writes."""
    try:
        record = json.loads(line)
        return Logged(_number(record["time"], most=_LATEST), _event(record))
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None


def _event(record: Mapping[str, Any]) -> Event:
    values, clients = record.get("values", {}), record.get("clients", [])
    if not isinstance(values, dict) or not isinstance(clients, list):
        raise TypeError
    return Event(
        _text(record["kind"]),
        exchange=_count(record.get("exchange", 0)),
        asked=_text(record.get("asked", "")),
        client=_text(record.get("client", "")),
        done=_count(record.get("done", 0)),
        total=_count(record.get("total", 0)),
        detail=_text(record.get("detail", "")),
        code=_text(record.get("code", "")),
        clients=tuple(map(_text, clients)),
        values={_text(client): _number(distance) for client, distance in values.items()},
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value[:LONGEST_TEXT]


def _count(value: object) -> int:
    if not isinstance(value, int) or not 0 <= value <= _MOST:
        raise ValueError
    return int(value)


def _number(value: object, *, most: float = math.inf) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    number = float(value)  # of a whole number with 400 digits: an OverflowError
    if not (math.isfinite(number) and 0 <= number <= most):
        raise ValueError
    return number
