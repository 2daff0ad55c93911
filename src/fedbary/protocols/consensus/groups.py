"""A client's points, class by class, and everything about them that may leave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.space.encode import encode
from fedbary.space.points import Points, class_codes, features
from fedbary.space.schema import Schema
from fedbary.transport import Transport, barycentric_projection, solve

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# A covariance of more coordinates is too large to send; the projected features have to do.
_WIDE = 1024


@dataclass(frozen=True, eq=False)
class Group:
    """The different points of one class and their shares of it; ``places`` are their positions in the cloud."""

    points: Floats
    weights: Floats
    places: Integers


def group_count(schema: Schema) -> int:
    """One group for each class; one for all rows where the label is a number."""
    return 1 if schema.label.kind == "number" else len(schema.label.classes)


def group_width(schema: Schema) -> int:
    """Coordinates of a support point: the features, and the label where it is a number."""
    return schema.point_width if schema.label.kind == "number" else schema.feature_width


def grouped_points(table: Table, cloud: Points, schema: Schema) -> list[Group]:
    """The table's points by group; rows of classes that the schema does not know belong to none."""
    codes = np.zeros(cloud.distinct, dtype=np.int64)
    if schema.label.kind == "classes":
        codes = class_codes(table, cloud, schema)
    groups = []
    for code in range(group_count(schema)):
        places = np.flatnonzero(codes == code)
        weights = cloud.weights[places]
        points = cloud.points[places, : group_width(schema)]
        groups.append(Group(points, weights / max(float(weights.sum()), np.finfo(float).tiny), places))
    return groups


def scored_features(table: Table, schema: Schema) -> Floats:
    """What the scoring model looks at: the scaled features before any projection, unless they are too many."""
    values = encode(table, schema)
    return values if values.shape[1] <= _WIDE else features(table, schema)


def scored_width(schema: Schema) -> int:
    """Number of coordinates of `scored_features`."""
    width = schema.encoded_width
    return width if width <= _WIDE else schema.feature_width


def summaries(groups: list[Group], width: int, *, min_group: int) -> dict[str, Floats]:
    """Counts of different rows, means and variances of groups of at least ``min_group``; zero for the others."""
    told = [may_shape(group, 1, min_group=min_group) for group in groups]
    counts = np.array([len(group.points) for group in groups], dtype=float) * told
    means, variances = np.zeros((len(groups), width)), np.zeros((len(groups), width))
    for code in np.flatnonzero(counts):
        points, weights = groups[code].points, groups[code].weights
        means[code] = weights @ points
        variances[code] = weights @ (points - means[code]) ** 2
    return {"counts": counts, "means": means, "variances": variances}


def blocks(sizes: Integers) -> list[slice]:
    """Where each group's points stand in the support."""
    ends = np.cumsum(sizes)
    return [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]


def may_shape(group: Group, size: int, *, min_group: int) -> bool:
    """Whether ``size`` support points would each average at least ``min_group`` different rows.

    Told rows weigh the same, but a schema can make them equal. No point may fill more than 1/``min_group`` of an
    answer; it is not given less weight, because two answers with different weights of one point would show it.
    """
    if size < 1 or len(group.points) < min_group * size:
        return False
    return min_group == 1 or float(group.weights.max()) * min_group * size <= 1.0 + 1e-9


def plan_from(support: Floats, group: Group) -> Transport:
    """Exact transport of one class's support to the group's rows."""
    return solve(support, group.points, None, group.weights)


def scored_summaries(
    groups: list[Group], values: Floats, support: Floats, sizes: Integers, *, min_group: int
) -> dict[str, Floats]:
    """What the scoring model is made from: the rows behind each support point averaged in scored features.

    ``values`` are the scored features of every distinct point. Along come their pooled covariance inside classes
    and the mask of classes that are not withheld.
    """
    width = values.shape[1]
    shaped = np.array(
        [may_shape(group, size, min_group=min_group) for group, size in zip(groups, sizes, strict=True)], dtype=float
    )
    rows = shaped * [len(group.points) for group in groups]
    centroids, within = np.zeros((len(support), width)), np.zeros((width, width))
    for code in np.flatnonzero(shaped):
        group, mine = groups[code], blocks(sizes)[code]
        own = values[group.places]
        plan = plan_from(support[mine], group)
        centroids[mine] = barycentric_projection(plan, own)
        centred = (own - plan.target_weights @ own) * np.sqrt(plan.target_weights)[:, None]
        within += rows[code] / rows.sum() * (centred.T @ centred)
    return {"centroids": centroids, "within": within, "shaped": shaped}
