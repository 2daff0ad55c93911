"""The data sets of the paper and of the experiments, as `fedbary.datasets.load` finds them by entry points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from fedbary.columns.arrays import Array
from fedbary.data import datasets
from fedbary.data.datasets import Dataset
from fedbary.data.table import Table
from fedbary_lab import downloads
from fedbary_lab.downloads import Source


@dataclass(frozen=True)
class Stored:
    """A data set that lies in a file, here or on OpenML; called, it is loaded."""

    name: str
    description: str
    rows: int
    features: int
    classes: int
    source: Source
    class_names: tuple[str, ...] = ()  # where the file numbers its classes and their names are in the papers

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        """What a list of data sets says of it."""
        return self.description

    def __call__(self) -> Dataset:
        """Look for the file in ``$FEDBARY_DATA`` and the user's cache, else fetch it unless ``FEDBARY_OFFLINE=1``."""
        stored = downloads.arrays(self.name, self.source)
        columns = None
        if not self.source.shape and "feature_names" in stored:
            columns = [str(feature) for feature in stored["feature_names"]]

        def part(which: str) -> Table:
            rows = _unit_range(stored[f"X_{which}"])
            return Table.from_arrays(rows, stored[f"y_{which}"].astype(np.int64), columns=columns, origin=self.name)

        classes = self.class_names or tuple(str(c) for c in stored.get("classes", range(10)))
        return Dataset(self.name, part("train"), part("test"), self.description, classes)

    def whereabouts(self) -> tuple[bool, str]:
        """Whether it is here, and where it is or would come from."""
        path = downloads.find(self.source)
        if path is not None:
            return True, str(path)
        if self.source.openml:
            return False, f"OpenML {self.source.openml} (needs the network)"
        return False, f"a folder in FEDBARY_DATA with {self.source.file}"


_CIFAR = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
_FASHION = (
    *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
    *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
)

cifar10_embeddings = Stored(
    "cifar10-embeddings",
    "CIFAR-10 photographs as embeddings of a frozen ImageNet network",
    *(25000, 512, 10),
    Source("cifar10_embeddings.npz"),
    _CIFAR,
)
cifar10_images = Stored(
    "cifar10-images",
    "CIFAR-10 photographs of 32 × 32 pixels in colour",
    *(8000, 3072, 10),
    Source("cifar10_images.npz", "CIFAR_10_small", (6000, 2000), (32, 32, 3), planar=True),
    _CIFAR,
)
fashion_mnist = Stored(
    "fashion-mnist",
    "Clothes of 28 × 28 grey pixels",
    *(25000, 784, 10),
    Source("fashion_mnist.npz", "Fashion-MNIST", shape=(28, 28)),
    _FASHION,
)
mnist = Stored(
    "mnist",
    "Handwritten digits of 28 × 28 grey pixels",
    *(25000, 784, 10),
    Source("mnist.npz", "mnist_784", shape=(28, 28)),
)
dry_bean = Stored(
    "dry-bean",
    "Seven kinds of dry beans, 16 standardised measurements",
    *(13543, 16, 7),
    Source("dry_bean.npz", "Dry_Bean_Dataset", (10543, 3000)),
)
STORED = (cifar10_embeddings, cifar10_images, fashion_mnist, mnist, dry_bean)


def describe() -> pd.DataFrame:
    """Tell, for every data set of the core and of this package, how large it is and where it would come from.

    Examples
    --------
    >>> describe()["name"].tolist()[2:5]
    ['diabetes', 'cifar10-embeddings', 'cifar10-images']
    """
    rows = []
    for data in STORED:
        available, where = data.whereabouts()
        sizes = {"rows": data.rows, "features": data.features, "classes": data.classes}
        rows.append({"name": data.name, **sizes, "task": "classification", "available": available, "where": where})
    return pd.concat([datasets.describe(), pd.DataFrame(rows)], ignore_index=True)


def _unit_range(rows: Array) -> Array:
    """Bring pixels from 0…255 to 0…1; everything else stays."""
    return rows.astype(np.float32) / np.float32(255) if rows.dtype == np.uint8 else rows
