"""The names that lines of Python in docs/inputs.md use; only what a line names is imported and made."""

import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd

MODULES = {
    "pd": "pandas", "pl": "polars", "duckdb": "duckdb", "np": "numpy", "datasets": "datasets", "torch": "torch",
    "fb": "fedbary",
}  # fmt: skip


def names(line: str) -> dict:
    """What a line needs; the working folder holds the files of `input_files`."""
    wanted = set(re.findall(r"\b[A-Za-z_]\w*", line))
    made = {name: import_module(module) for name, module in MODULES.items() if name in wanted}
    if "pa" in wanted:
        made["pa"] = import_module("pyarrow")
        import_module("pyarrow.parquet")
    if "scipy" in wanted:
        made["scipy"] = import_module("scipy")
        import_module("scipy.sparse")
    for name, make in MAKERS.items():
        if name in wanted:
            made[name] = make()
    if "np.load" in line:
        for place, name in enumerate("abc"):
            np.save(f"{name}.npy", _digits().data[200 * place : 200 * place + 200])
    return made


def _digits():
    from sklearn.datasets import load_digits

    return load_digits()


def _pictures() -> dict:
    from PIL import Image

    return {site.name: [Image.open(file) for file in sorted(site.glob("*/*.png"))] for site in _sites()}


def _sites() -> list[Path]:
    return sorted(Path("pictures").iterdir())


def _reviews(column: str) -> dict:
    return {file.stem: pd.read_csv(file)[column].tolist() for file in sorted(Path("reviews").glob("*.csv"))}


def _partitioner():
    from datasets import Dataset
    from flwr_datasets.partitioner import IidPartitioner

    partitioner = IidPartitioner(num_partitions=3)
    partitioner.dataset = Dataset.from_pandas(pd.read_csv("all.csv").drop(columns="studyName"))
    return partitioner


def _encoder():
    def halves(images: list) -> np.ndarray:
        grey = [np.asarray(image.convert("L"), dtype=np.float32) for image in images]
        return np.array([[half.mean() for half in np.array_split(image, 4)] for image in grey], dtype=np.float32)

    return halves


MAKERS = {
    "sites": lambda: [file.stem for file in sorted(Path("sites").glob("*.csv"))],
    "digits": _digits,
    "X": lambda: _digits().data,
    "y": lambda: _digits().target,
    "pictures": _pictures,
    "classes": lambda: {site.name: [file.parent.name for file in sorted(site.glob("*/*.png"))] for site in _sites()},
    "reviews": lambda: _reviews("review"),
    "stars": lambda: _reviews("stars"),
    "partitioner": _partitioner,
    "my_encoder": _encoder,
}
