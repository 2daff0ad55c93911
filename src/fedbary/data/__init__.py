"""Where rows come from: tables, files, partitions, corruptions and named data sets."""

from fedbary.data import datasets
from fedbary.data.corruptions import add_noise, duplicate_rows, flip_labels, repeat_row
from fedbary.data.datasets import Dataset
from fedbary.data.export import write
from fedbary.data.files import read, read_clients
from fedbary.data.objects import as_table
from fedbary.data.partitions import Partition, by_size, dirichlet, paper_case
from fedbary.data.table import Table, concat

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
    "paper_case",
    "read",
    "read_clients",
    "repeat_row",
    "write",
]
