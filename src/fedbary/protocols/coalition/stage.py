"""The spaces in which groups are played and compared, fitted on the server's own rows.

Clients send means of scaled columns; where these lie in the schema's space, or along its directions, is the server's
business.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.protocols.coalition.groups import Groups
from fedbary.protocols.coalition.judge import Judge
from fedbary.protocols.sketch.sketch import SketchPoints
from fedbary.space.encode import encode
from fedbary.space.fit import whitening_matrix
from fedbary.space.labels import class_names, label_coordinates
from fedbary.space.points import place
from fedbary.space.schema import Schema
from fedbary.transport import solve
from fedbary.transport.cost import cost_matrix

Floats = NDArray[np.float64]

# More rows make the accuracy hardly more exact, and every coalition slower.
_MOST_ROWS = 5000


@dataclass(frozen=True, eq=False)
class Stage:
    """What the server fits on its rows to read groups with: a linear map, and how much scatter it keeps.

    ``directions`` maps encoded columns to the coordinates of the game. ``kept`` and ``kept_here`` are the scatter
    inside classes in those coordinates and in the schema's space, as parts of that of the encoded columns.
    """

    schema: Schema
    judge: Judge
    directions: Floats
    kept: float
    kept_here: float

    @classmethod
    def fit(cls, reference: Table, schema: Schema, *, shrinkage: float, seed: int) -> Stage:
        """Use the reference rows of classes that the schema knows, or 5000 of them."""
        position = {name: code for code, name in enumerate(schema.label.classes)}
        codes = np.array([position.get(str(name), -1) for name in class_names(reference.labels)], dtype=np.int64)
        rows = np.flatnonzero(codes >= 0)
        if len(rows) > _MOST_ROWS:
            rows = np.sort(np.random.default_rng(seed).choice(rows, _MOST_ROWS, replace=False))
        table, codes = reference.take(rows), codes[rows]
        encoded = encode(table, schema)
        directions = np.eye(encoded.shape[1]) if schema.projection is None else schema.projection.directions.T
        inside = encoded - _class_means(encoded, codes)
        if schema.whitening is not None:
            along = inside @ directions
            directions = directions @ whitening_matrix(along.T @ along / len(along), shrinkage)
        total = max(float((inside**2).sum()), np.finfo(float).tiny)
        here = place(encoded, schema)
        points = encoded @ directions
        return cls(
            schema,
            Judge(points, codes, np.full(len(codes), 1.0 / len(codes))),
            directions,
            float(((inside @ directions) ** 2).sum()) / total,
            float(((here - _class_means(here, codes)) ** 2).sum()) / total,
        )

    def played(self, groups: Groups) -> Groups:
        """Groups in the coordinates of the game."""
        return groups.moved(groups.points[:, : len(self.directions)] @ self.directions, self.kept)

    def placed(self, groups: Groups) -> Groups:
        """Groups in the features of the schema's space, in which the sketch lies."""
        values, missing = np.split(groups.points, [self.schema.encoded_width], axis=1)
        return groups.moved(np.hstack([place(values, self.schema), missing]), self.kept_here)

    def distance(self, groups: Groups, sketch: SketchPoints) -> tuple[float, float]:
        """Estimates of the distance to the reference and of the quality.

        A row costs what the mean of its group costs and, on average, the scatter around it; with the sketch's own
        spread the former is an upper estimate of the distance, as in the sketch protocol.
        """
        own = self.placed(groups)
        scatter = own.scatter / max(own.rows, 1.0)
        points = np.hstack([own.points, label_points(self.schema)[own.classes]])
        cost = solve(points, sketch.points, own.counts / own.rows, sketch.weights).cost + scatter
        estimate = np.sqrt(np.sqrt(cost) * np.sqrt(cost + sketch.error**2))
        nearest = cost_matrix(points, sketch.points, 2).min(axis=1) + scatter
        relaxed = float(own.counts @ np.minimum(nearest, sketch.cap)) / own.rows
        return float(estimate), 1.0 - relaxed / sketch.cap


def label_points(schema: Schema) -> Floats:
    """Label coordinates of every class of the schema."""
    names = np.array(schema.label.classes)
    return label_coordinates(names, np.zeros((len(names), 0)), np.full(len(names), 1.0), schema.label)


def _class_means(values: Floats, codes: NDArray[np.int64]) -> Floats:
    count = np.bincount(codes)
    sums = np.zeros((len(count), values.shape[1]))
    np.add.at(sums, codes, values)
    return np.asarray((sums / np.maximum(count, 1)[:, None])[codes])
