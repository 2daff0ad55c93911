"""Every field of a content lost, doubled or of another type, at every depth; text that is JSON is looked into, too."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

Change = Callable[[dict[str, Any]], None]
_DEEP: list[Any] = []
for _ in range(400):
    _DEEP = [_DEEP]
OTHERS: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 7, 2**31, 2**63, 10**18, 10**400, 0.5, -1e308, 1e308, 5e-324, float("nan"),
    float("inf"), "", "x", "7", "x" * 20_000, "\x00", "\x1b[2J", "\ud800", "{", "[" * 20_000, [], {}, [0], ["x"],
    [None], [[1.0]], {"a": 1}, {"": {}}, _DEEP,
)  # fmt: skip


class Twice(dict[str, Any]):
    """An object of which one name comes twice, with the same value or another."""

    name: str = ""
    value: Any = None

    def items(self) -> Any:  # the JSON writer asks for these
        """All fields, and one again."""
        return [*super().items(), (self.name, self.value)]


def damages(content: Any) -> list[Callable[[], Any]]:
    """Every damage to a JSON content: each makes another damaged copy."""
    return list(_damages(_opened(content)))


def text_of(content: Any) -> Any:
    """A damaged content with its inner texts as texts again."""
    return _closed(content)


class _Text:
    """A text that is JSON itself."""

    def __init__(self, content: Any) -> None:
        self.content = content


def _opened(content: Any) -> Any:
    if isinstance(content, str) and content[:1] in ("{", "["):
        try:
            return _Text(_opened(json.loads(content)))
        except ValueError:
            return content
    if isinstance(content, dict):
        return {name: _opened(value) for name, value in content.items()}
    return [_opened(value) for value in content] if isinstance(content, list) else content


def _closed(content: Any) -> Any:
    if isinstance(content, _Text):
        return json.dumps(_closed(content.content))
    if isinstance(content, Twice):
        closed = Twice({name: _closed(value) for name, value in dict.items(content)})
        closed.name, closed.value = content.name, _closed(content.value)
        return closed
    if isinstance(content, dict):
        return {name: _closed(value) for name, value in content.items()}
    return [_closed(value) for value in content] if isinstance(content, list) and content is not _DEEP else content


def _damages(content: Any) -> Iterator[Callable[[], Any]]:
    if isinstance(content, _Text):
        for inner in _damages(content.content):
            yield lambda inner=inner: _Text(inner())
        for other in OTHERS:
            yield lambda other=other: _Text(other)
    elif isinstance(content, dict):
        for name, value in content.items():
            yield lambda name=name: {key: one for key, one in content.items() if key != name}
            for again in (value, None, 7):
                yield lambda name=name, again=again: _twice(content, name, again)
            yield lambda name=name, value=value: {**content, f"{name} ": value}
            for other in OTHERS:
                yield lambda name=name, other=other: {**content, name: other}
            for inner in _damages(value):
                yield lambda name=name, inner=inner: {**content, name: inner()}
    elif isinstance(content, list):
        for at, value in list(enumerate(content))[:3]:
            yield lambda at=at: [*content[:at], *content[at + 1 :]]
            yield lambda at=at: [*content, content[at]]
            for other in OTHERS:
                yield lambda at=at, other=other: [*content[:at], other, *content[at + 1 :]]
            for inner in _damages(value):
                yield lambda at=at, inner=inner: [*content[:at], inner(), *content[at + 1 :]]


def _twice(content: Mapping[str, Any], name: str, value: Any) -> Twice:
    found = Twice(content)
    found.name, found.value = name, value
    return found


# --- arrays -------------------------------------------------------------------------------------------

_TYPES = ("f2", "f4", ">f8", "i1", "i8", "u1", "u8", "b1", "c16", "U3", "S3", "M8[s]", "m8[s]")


def array_damages(array: np.ndarray) -> list[Callable[[], Any]]:
    """Every other array in the place of one; ``bytes`` where NumPy itself would not write it."""
    shapes: tuple[tuple[int, ...], ...] = ((), (0,), (0, 0), (1,), (3, 3), (1,) * 8, (1,) * 9, (2**18,), (1, 2**12))
    found: list[Callable[[], Any]] = [lambda kind=kind: _as(array, kind) for kind in _TYPES]
    found += [lambda shape=shape: np.zeros(shape, array.dtype) for shape in shapes]
    for number in (np.nan, np.inf, -np.inf, 0.0, -1.0, 1e99, 1e308, 5e-324):
        found.append(lambda number=number: np.full(array.shape, number))
        found.append(lambda number=number: _first(array, number))
    found += [lambda: array[:-1] if array.ndim else array, lambda: array[None], lambda: np.asfortranarray(array.T)]
    found += [lambda: np.concatenate([array, array]) if array.ndim else array]
    claims = ((b"'<f8'", b"'|O'"), (b"shape': (", b"shape': (99999999999, "), (b"shape': (", b"shape': (-1, "))
    found += [lambda old=old, new=new: _claimed(array, old, new) for old, new in claims]
    return found


def _as(array: np.ndarray, kind: str) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.zeros(array.shape, kind) if kind[0] in "USMm" else array.astype(kind)


def _first(array: np.ndarray, number: float) -> np.ndarray:
    found = np.array(array, dtype=float)
    if found.size:
        found.flat[0] = number
    return found


def _claimed(array: np.ndarray, old: bytes, new: bytes) -> bytes:
    return npy(array).replace(old, new, 1)


def npy(array: np.ndarray) -> bytes:
    """As NumPy writes it."""
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def npz(members: list[tuple[str, Any]]) -> bytes:
    """A file of arrays, in which a name may come twice."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in members:
            archive.writestr(f"{name}.npy", array if isinstance(array, bytes) else npy(np.asarray(array)))
    return file.getvalue()
