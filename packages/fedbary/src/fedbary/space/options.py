"""What a user asks of any protocol: how rows are to become points (`Space`), and how they are flagged (`RowRules`)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Literal, get_args

from fedbary.checks import one_of
from fedbary.errors import wrong_parameter

Task = Literal["auto", "classification", "regression"]
Scaling = Literal["standard", "coordinate", "none"]
Metric = Literal["euclidean", "within", "total"]
Labels = Literal["gaussian", "gaussian-full", "onehot", "numeric"]
Missing = Literal["indicate", "refuse"]


@dataclass(frozen=True)
class Space:
    """Settings of the space in which data sets are compared.

    Parameters
    ----------
    task : {"auto", "classification", "regression"}
        What the label is. ``auto`` looks at the labels and asks when they could be either.
    scaling : {"standard", "coordinate", "none"}
        How numbers are scaled. ``standard`` gives every column mean 0 and standard deviation 1; the coordinates of an
        embedding or image block share one scale, so that a pixel that hardly varies does not outweigh all others.
        ``coordinate`` standardises each coordinate of a block, too; ``none`` leaves the numbers as they are.
    metric : {"euclidean", "within", "total"}, optional
        How features are compared. ``euclidean`` is the paper's; ``within`` whitens by the within-class covariance,
        ``total`` by the covariance of all rows. Default: what the protocol recommends.
    shrinkage : float
        Share of a multiple of the identity that is mixed into the covariance before whitening.
    projection : "auto", "none" or int
        Directions to keep, auto, none or a number: principal ones, without a reference random ones. A residual
        coordinate is always added, so that noise off the data's manifold stays visible. ``auto`` projects to 64
        directions above 256 coordinates.
    labels : {"gaussian", "gaussian-full", "onehot", "numeric"}, optional
        How labels become coordinates. ``gaussian`` appends each class's mean and standard deviations (the paper's, with
        a diagonal covariance), ``gaussian-full`` its mean and the root of its full covariance, ``onehot`` a
        corner of a simplex, ``numeric`` the scaled number of a regression. Default: the protocol's.
    label_weight : float, optional
        Squared distance of two labels; in ``numeric`` the squared weight of the standardised label. Default: the
        expected squared feature distance of two random rows.
    missing : {"indicate", "refuse"}
        What to do with missing feature values. ``indicate`` puts the middle of the reference's numbers in their place
        (categories: midway between all of them) and adds coordinates that say that they are missing, so that a row
        never comes nearer by lacking cells; ``refuse`` refuses the table. Missing labels are always refused.

    Examples
    --------
    >>> import fedbary as fb
    >>> fb.Space(metric="within", labels="onehot").shrinkage
    0.2
    """

    task: Task = "auto"
    scaling: Scaling = "standard"
    metric: Metric | None = None
    shrinkage: float = 0.2
    projection: Literal["auto", "none"] | int = "auto"
    labels: Labels | None = None
    label_weight: float | None = None
    missing: Missing = "indicate"

    def __post_init__(self) -> None:
        words = {"task": Task, "scaling": Scaling, "metric": Metric, "labels": Labels, "missing": Missing}
        for name, allowed in words.items():
            if name not in ("metric", "labels") or getattr(self, name) is not None:
                one_of(getattr(self, name), name, "Space", get_args(allowed))
        whole = isinstance(self.projection, Integral) and not isinstance(self.projection, bool)
        if self.projection not in ("auto", "none") and not (whole and int(self.projection) > 0):
            raise wrong_parameter("projection", "Space", "'auto', 'none' or a positive whole number", self.projection)
        if not 0.0 <= self.shrinkage <= 1.0:
            raise wrong_parameter("shrinkage", "Space", "a number in [0, 1]", self.shrinkage)
        if self.label_weight is not None and not self.label_weight >= 0.0:
            raise wrong_parameter("label_weight", "Space", "a number that is not negative", self.label_weight)

    def with_defaults(self, *, metric: Metric, labels: Labels) -> Space:
        """Fill in what the user left to the protocol."""
        return replace(self, metric=self.metric or metric, labels=self.labels or labels)


@dataclass(frozen=True)
class RowRules:
    """Settings of row flags.

    Parameters
    ----------
    fdr : float
        Share of flagged rows that may be clean, on average: the false-discovery rate.
    rule : {"bh", "sign"}
        How rows are flagged, bh (false-discovery rate) or sign (the paper's, a positive gradient): ``bh`` by
        p-values and Benjamini–Hochberg at rate ``fdr``, ``sign`` by calibrated gradients.
    """

    fdr: float = 0.1
    rule: Literal["bh", "sign"] = "bh"

    def __post_init__(self) -> None:
        if not (isinstance(self.fdr, Real) and 0.0 < self.fdr < 1.0):
            raise wrong_parameter("fdr", "value", "between 0 and 1", self.fdr)
        if self.rule not in ("bh", "sign"):
            raise wrong_parameter("rule", "value", "'bh' or 'sign'", self.rule)
