"""What the receiver of noisy moments makes of them, knowing how large the noise is; without it, ε is wasted.

All of it is post-processing. Where there is no noise, counts, means and covariance stay what they are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbary.protocols.cards.class_moments import ClassMoments

Floats = NDArray[np.float64]

# How much of the products in the class means' own covariance is believed: it is told by no more points than classes.
_BELIEVED = 0.5
# Times τ·√d, the least variance in any direction; eigenvalues of noise alone reach 2·τ·√d.
_FLOOR = 1.5


def repaired(moments: ClassMoments) -> tuple[Floats, Floats, Floats]:
    """Counts (K,), class means (K, d) and the covariance (d, d) of rows about these means.

    Counts are shrunk towards each other and class means towards the grand mean, each by its noise relative to how much
    it varies. The covariance is about the shrunk means, so that it also holds what is not known of them; its
    eigenvalues are at least of the size of the noise in it.
    """
    counts = _counts(moments)
    shares = counts / counts.sum()
    grand = moments.sums.sum(axis=0) / counts.sum()
    apart = _shrunk(moments.sums / counts[:, None] - grand, moments.noise.sum / counts**2)
    second = moments.second if moments.full else np.diag(moments.second)
    covariance = second / counts.sum() - np.outer(grand, grand) - (apart.T * shares) @ apart
    return counts, grand + apart, _bounded(covariance, np.sqrt(moments.noise.product) / counts.sum(), moments.full)


def _counts(moments: ClassMoments) -> Floats:
    """Shrunk by v/(v + noise), v = max(var(n) − noise, 0); at least one row each, or as many as noise makes up."""
    counts, noise = moments.counts, moments.noise.count
    if len(counts) > 1:
        spread = max(float(counts.var(ddof=1)) - noise, 0.0)
        counts = counts.mean() + (counts - counts.mean()) * (spread / (spread + noise) if noise > 0.0 else 1.0)
    return np.maximum(counts, max(1.0, float(np.sqrt(noise))))


def _shrunk(apart: Floats, noise: Floats) -> Floats:
    """What lies between classes (K, d), given the variance of the noise in each class mean (K,).

    The best estimate, B(B + ν_c)⁻¹ times what is seen, if the class means have covariance B about the grand mean. B is
    what the noise leaves of the covariance that is seen, classes counting by how well they are known.
    """
    if not noise.any():
        return apart
    precise = 1.0 / noise
    precise /= precise.sum()
    seen = (apart.T * precise) @ apart - float(precise @ noise) * np.eye(apart.shape[1])
    values, directions = np.linalg.eigh(seen)
    between = _BELIEVED * (directions * np.maximum(values, 0.0)) @ directions.T
    between += (1.0 - _BELIEVED) * np.diag(np.maximum(np.diag(seen), 0.0))
    values, directions = np.linalg.eigh(between)
    values = np.maximum(values, 0.0)
    return np.asarray(((apart @ directions) * (values / (values + noise[:, None]))) @ directions.T)


def _bounded(covariance: Floats, noise: float, full: bool) -> Floats:
    """With eigenvalues that noise of this deviation in every product cannot have made up."""
    least = _FLOOR * noise * np.sqrt(len(covariance) if full else 2.0)
    values, directions = np.linalg.eigh(covariance)
    return np.asarray((directions * np.maximum(values, least)) @ directions.T)
