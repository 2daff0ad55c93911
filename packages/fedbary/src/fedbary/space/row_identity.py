"""Rows as such: keys of their content, a split that depends on nothing else, and guards that count different rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from fedbary.data.ahead import ahead
from fedbary.data.categories import category_names
from fedbary.data.table import PART, Table

Floats = NDArray[np.float64]

# Rows whose numbers are brought together at a time: they stay in the processor's cache.
_TOGETHER = 2048
# Digests of a table are asked for by several parts of a run, and hashing a million rows takes seconds.
_HASHED: WeakKeyDictionary[Table, NDArray[np.bytes_]] = WeakKeyDictionary()


def row_keys(table: Table, *, seed: int = 0) -> NDArray[np.bytes_]:
    """A keyed hash of each row's content; equal rows have equal keys, in whatever order rows and columns are."""
    if seed == 0 and table in _HASHED:
        return _HASHED[table]
    keys = np.concatenate(
        [np.zeros(0, dtype="S16"), *(_keys(part, seed) for part in table.replace(ids=None).batches())]
    )
    if seed == 0:
        _HASHED[table] = keys
    return keys


def _keys(table: Table, seed: int) -> NDArray[np.bytes_]:
    empty = hashlib.blake2b(key=str(seed).encode(), digest_size=16)
    digests = []
    for numbers, text in zip(_number_bytes(table), _text_bytes(table), strict=True):
        row = empty.copy()
        row.update(numbers)
        row.update(text)
        digests.append(row.digest())
    return np.frombuffer(b"".join(digests), dtype="S16")


def _number_bytes(table: Table) -> Iterator[memoryview]:
    """The numbers of each row, columns in the order of their names."""
    for matrix in _number_blocks(table):
        if not matrix.size:
            yield from repeat(memoryview(b""), len(matrix))
            continue
        numbers, step = matrix.data.cast("B"), 8 * matrix.shape[1]
        yield from (numbers[place : place + step] for place in range(0, len(numbers), step))


def _number_blocks(table: Table) -> Iterator[Floats]:
    columns = [table.columns[name] for name in sorted(table.columns)]
    blocks = [values.reshape(len(table), -1) for values in columns if values.dtype.kind != "O"]
    for start in range(0, len(table), _TOGETHER):
        some = slice(start, min(start + _TOGETHER, len(table)))
        matrix = np.hstack([np.zeros((some.stop - start, 0)), *(block[some] for block in blocks)])
        matrix += 0.0  # there is one zero
        yield matrix


def _text_bytes(table: Table) -> Iterator[bytes]:
    """The label and the texts of each row."""
    import pandas as pd

    codes, different = pd.factorize(table.labels)  # few labels, many rows
    names = [repr(name) for name in category_names(np.asarray(different))]
    columns = [table.columns[name] for name in sorted(table.columns)]
    texts = [category_names(values).tolist() for values in columns if values.dtype.kind == "O"]
    if not texts:
        labels = [f"({name}, [])".encode() for name in names]
        return map(labels.__getitem__, codes.tolist())
    rows = zip(codes.tolist(), zip(*texts, strict=True), strict=True)
    return (f"({names[code]}, {list(cells)!r})".encode() for code, cells in rows)


def hashed_rows(matrix: NDArray[np.floating]) -> NDArray[np.bytes_]:
    """128 bits of each row of numbers, to find equal ones among very many: fast, and nothing that hides a row.

    Bits are mixed and summed with random factors (multilinear hashing): two different rows have the same hash with a
    probability of about 2⁻¹²⁸.
    """
    width = matrix.shape[1]
    factors = np.random.default_rng(width).integers(0, 2**64, (2, width), dtype=np.uint64) | np.uint64(1)
    hashes = np.empty((len(matrix), 2), dtype=np.uint64)
    for start in range(0, len(matrix), _TOGETHER):
        bits = (matrix[start : start + _TOGETHER].astype(np.float64) + 0.0).view(np.uint64)
        # The high bits of a float tell more than the low ones, and products only move bits up.
        for shift in (32, 29):
            bits ^= bits >> np.uint64(shift)
            bits *= _ODD
        bits ^= bits >> np.uint64(32)
        for place, factor in enumerate(factors):
            hashes[start : start + _TOGETHER, place] = (bits * factor).sum(axis=1)
    return hashes.view("S16").ravel()


_ODD = np.uint64(0x9E3779B97F4A7C15)


def content_digest(table: Table) -> str:
    """One hash of a table's rows, in whatever order, and of which are of one person where that is known."""
    keys = row_keys(table)
    if table.persons is not None:
        order = np.lexsort((keys, table.persons))
        ends = np.flatnonzero(np.diff(table.persons[order])) + 1
        rows = np.split(keys[order], ends)
        keys = np.array([hashlib.blake2b(b"".join(own.tolist()), digest_size=16).digest() for own in rows], dtype="S16")
    return hashlib.sha256(b"".join(np.sort(keys).tolist())).hexdigest()


@dataclass(frozen=True, eq=False)
class _Large:
    """What a table of many rows is known by: a hash of each row, and one of all in their order."""

    hashes: NDArray[np.bytes_]
    digest: str

    @classmethod
    def of(cls, table: Table) -> _Large:
        """What is known by now, or else by reading all rows."""
        if table not in _LARGE:
            for _ in known_parts(table):
                pass
        return _LARGE[table]


_LARGE: WeakKeyDictionary[Table, _Large] = WeakKeyDictionary()


def known_parts(table: Table) -> Iterator[Table]:
    """The parts of a large table for whoever needs them, and after the last one its rows are known, too.

    Keys take a second for a quarter million rows, in which Python does nothing else. So numbers are hashed many rows at
    a time, with the number of the row's label.
    """
    import pandas as pd

    codes, different = pd.factorize(table.labels)
    whole, hashes, start = hashlib.sha256(), list[NDArray[np.bytes_]](), 0
    for part in ahead(table.replace(ids=None).batches()):
        yield part
        if any(values.dtype.kind == "O" for values in part.columns.values()):
            hashes.append(_keys(part, 0))
            whole.update(hashes[-1].tobytes())
            start += len(part)
            continue
        for matrix in _number_blocks(part):
            own = codes[start : start + len(matrix)].astype(np.float64)
            hashes.append(hashed_rows(np.column_stack([matrix, own])))
            whole.update(matrix.data)
            start += len(matrix)
    whole.update(codes.astype(np.int64).tobytes())
    whole.update(repr(category_names(np.asarray(different)).tolist()).encode())
    _LARGE[table] = _Large(np.concatenate(hashes), whole.hexdigest())


def order_digest(table: Table) -> str:
    """One hash of a table's rows in their order, by which a table is known again."""
    if len(table) > PART:
        return _Large.of(table).digest
    return hashlib.sha256(b"".join(row_keys(table).tolist())).hexdigest()


def place_of_first(table: Table) -> NDArray[np.int64]:
    """For each row its place in `different_rows`.

    Examples
    --------
    >>> place_of_first(Table({"age": [52, 31, 52]}, ["ill", "ill", "ill"]))
    array([0, 1, 0])
    """
    _, first, which = np.unique(_hashes(table), return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first)).astype(np.int64)[which]


def _hashes(table: Table) -> NDArray[np.bytes_]:
    return row_keys(table) if len(table) <= PART else _Large.of(table).hashes


def different_rows(table: Table) -> Table:
    """The table with each row once: what guards count."""
    return once(table).replace(ids=None)


def once(table: Table) -> Table:
    """The table with the first of each different row, with its id."""
    first = np.sort(np.unique(_hashes(table), return_index=True)[1])
    return table if len(first) == len(table) else table.take(first)


def without_rare_values(values: Floats, min_group: int) -> Floats:
    """Columns in which fewer than ``min_group`` rows differ from all others become constant.

    A sum over such a column, or a product with it, would be a sum over those few rows. Returns ``values`` itself
    where there is no such column.
    """
    if min_group <= 1 or not len(values):
        return values
    # A value that all but a few rows share is the median of any that are twice as many, be it "missing". Unless most
    # rows share it, it is a row's own value, and a constant would show it.
    some = values[: 2 * min_group - 1]
    middle = len(some) // 2
    common = np.partition(some, middle, axis=0)[middle]
    odd = len(values) - ((values == common) | (np.isnan(values) & np.isnan(common))).sum(axis=0)
    rare = (odd > 0) & (odd < min(min_group, len(values) / 2))
    return np.where(rare, common, values) if rare.any() else values
