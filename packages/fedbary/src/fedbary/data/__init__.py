"""Where rows come from: tables, files, partitions, corruptions and named data sets."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Name → where it lives; imported when it is first used, as options are read before anything heavy is there.
_HOMES = {
    "Dataset": "datasets",
    "Partition": "partitions",
    "Table": "table",
    "add_noise": "corruptions",
    "as_table": "objects",
    "by_size": "partitions",
    "concat": "table",
    "dirichlet": "partitions",
    "duplicate_rows": "corruptions",
    "flip_labels": "corruptions",
    "paper_case": "partitions",
    "read": "files",
    "read_clients": "files",
    "repeat_row": "corruptions",
    "shuffle_pixels": "corruptions",
    "write": "export",
}

__all__ = [
    "Dataset",
    "Partition",
    "Table",
    "add_noise",
    "as_table",
    "by_size",
    "concat",
    "datasets",
    "dirichlet",
    "duplicate_rows",
    "flip_labels",
    "of_flower",
    "paper_case",
    "read",
    "read_clients",
    "repeat_row",
    "shuffle_pixels",
    "write",
]

if TYPE_CHECKING:
    from fedbary.data import datasets
    from fedbary.data.corruptions import add_noise, duplicate_rows, flip_labels, repeat_row, shuffle_pixels
    from fedbary.data.datasets import Dataset
    from fedbary.data.export import write
    from fedbary.data.files import read, read_clients
    from fedbary.data.objects import as_table
    from fedbary.data.partitions import Partition, by_size, dirichlet, of_flower, paper_case
    from fedbary.data.table import Table, concat


def __getattr__(name: str) -> Any:
    if name == "datasets":
        return import_module("fedbary.data.datasets")
    if name not in _HOMES:
        raise AttributeError(f"module 'fedbary.data' has no attribute {name!r}")
    return getattr(import_module(f"fedbary.data.{_HOMES[name]}"), name)
