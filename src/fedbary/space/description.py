"""What a party says about its table so that a schema can be agreed: counts and sums, never rows."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.errors import DataError, SchemaError
from fedbary.space.encode import category_texts, column_kind, who
from fedbary.space.labels import class_names, label_kind
from fedbary.space.rows import different_rows, without_rare_values
from fedbary.space.settings import Space

Floats = NDArray[np.float64]

# A text column with more different values than this, most of them seen once or twice, is an identifier.
_MANY_CATEGORIES = 100


@dataclass(frozen=True)
class ColumnDescription:
    """One column: for numbers the mean and variance of each coordinate, for text its frequent categories."""

    name: str
    kind: str
    width: int
    mean: tuple[float, ...] = ()
    variance: tuple[float, ...] = ()
    categories: tuple[str, ...] = ()


@dataclass(frozen=True)
class Description:
    """Row count, columns, label kind, and the classes that have enough rows to be named."""

    rows: int
    columns: tuple[ColumnDescription, ...]
    label_name: str
    label_kind: str
    classes: tuple[str, ...] = ()
    label_mean: float = 0.0
    label_variance: float = 1.0

    @property
    def layout(self) -> tuple[tuple[str, str, int], ...]:
        """Names, kinds and widths: what must be the same for everybody, in whatever order."""
        numeric = {"boolean": "numeric"}  # one maker's 0/1 is another's False/True
        return tuple(sorted((c.name, numeric.get(c.kind, c.kind), c.width) for c in self.columns))

    def to_json(self) -> str:
        """Serialise for a message; numbers keep every bit."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Description:
        """Read and check what another party's `to_json` wrote."""
        try:
            content = json.loads(text)
            columns = tuple(
                ColumnDescription(
                    **{
                        **column,
                        "mean": tuple(float(v) for v in column["mean"]),
                        "variance": tuple(float(v) for v in column["variance"]),
                        "categories": tuple(str(v) for v in column["categories"]),
                    }
                )
                for column in content["columns"]
            )
            description = cls(**{**content, "columns": columns, "classes": tuple(map(str, content["classes"]))})
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise SchemaError(f"the description of the table cannot be read ({error})") from error
        description._check()
        return description

    def _check(self) -> None:
        numbers = [self.label_mean, self.label_variance]
        for column in self.columns:
            if column.kind != "categorical" and not len(column.mean) == len(column.variance) == column.width:
                raise SchemaError(f"the description of column '{column.name}' has the wrong length")
            numbers.extend(column.mean + column.variance)
        if not np.isfinite(numbers).all():
            raise SchemaError("the description of the table holds numbers that are not finite")


def describe(table: Table, settings: Space, *, min_group: int = 1) -> Description:
    """Describe a table by sums over all its rows; categories and classes under ``min_group`` rows stay unnamed.

    Examples
    --------
    >>> import fedbary as fb
    >>> from fedbary.space import describe
    >>> table = fb.Table.from_arrays([[1.0], [3.0]], ["a", "b"])
    >>> describe(table, fb.Space()).columns[0].mean
    (2.0,)
    """
    if len(table) < min_group:
        raise DataError(
            f"{who(table)}{len(table)} {'row is' if len(table) == 1 else 'rows are'} fewer than min_group = "
            f"{min_group}: add rows, or lower min_group if the owner agrees."
        )
    kind = label_kind(table.labels, settings.task, name=table.label_name)
    unlike = different_rows(table) if min_group > 1 else table
    columns = tuple(_describe_column(table, unlike, name, settings, min_group) for name in table.columns)
    if kind == "number":
        values = np.asarray(table.labels, dtype=float)
        moments = float(values.mean()), float(values.var())
        return Description(len(table), columns, table.label_name, kind, (), *moments)
    counts = Counter(class_names(unlike.labels).tolist())
    classes = tuple(sorted(name for name, count in counts.items() if count >= min_group))
    return Description(len(table), columns, table.label_name, kind, classes)


def _describe_column(table: Table, unlike: Table, name: str, settings: Space, min_group: int) -> ColumnDescription:
    values = table.columns[name]
    kind = column_kind(values)
    if kind == "categorical":
        texts = [text for text in category_texts(values) if text is not None]
        _refuse_missing(table, name, len(table) - len(texts), settings)
        counts = Counter(texts)
        if len(counts) > max(_MANY_CATEGORIES, len(table) // 2):
            raise DataError(
                f"{who(table)}column '{name}' has {len(counts)} different texts in {len(table)} rows, so it looks "
                "like an identifier or free text: drop it, or name it as the id."
            )
        often = Counter(category_texts(unlike.columns[name]))
        frequent = tuple(sorted(text for text in counts if often[text] >= min_group))
        return ColumnDescription(name, kind, 1, categories=frequent)
    numbers = without_rare_values(np.asarray(values, dtype=np.float64).reshape(len(table), -1), min_group)
    holes = np.isnan(numbers)
    _refuse_missing(table, name, int(holes.any(axis=1).sum()), settings)
    present = (~holes).sum(axis=0)
    if (present < max(min_group, 1)).any():
        raise DataError(
            f"{who(table)}column '{name}' has {'no value' if min_group <= 1 else f'fewer than {min_group} values'}: "
            "drop the column."
        )
    mean = np.where(holes, 0.0, numbers).sum(axis=0) / present
    variance = np.where(holes, 0.0, (numbers - mean) ** 2).sum(axis=0) / present
    return ColumnDescription(name, kind, numbers.shape[1], tuple(mean.tolist()), tuple(variance.tolist()))


def _refuse_missing(table: Table, column: str, count: int, settings: Space) -> None:
    if count and settings.missing == "refuse":
        raise DataError(
            f"{who(table)}column '{column}' has {count} missing {'value' if count == 1 else 'values'} in "
            f"{len(table)} rows: fill or drop them, or ask for missing='impute'."
        )
