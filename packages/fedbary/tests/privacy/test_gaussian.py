"""Discrete Gaussian noise: exact on the integers, and never from a seed unless a test hands one in."""

import random
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from codes import coded
from fedbary.errors import PrivacyError
from fedbary.privacy.noise import discrete_gaussian


@pytest.mark.parametrize("variance", [Fraction(1, 3), Fraction(2), Fraction(157, 8), Fraction(10**6)])
def test_the_noise_has_the_distribution_it_claims(variance):
    below = random.Random(7).randrange
    draws = np.array([discrete_gaussian(variance, below=below) for _ in range(20_000)])
    deviation = float(variance) ** 0.5
    reach = int(12 * deviation) + 4
    support = np.arange(-reach, reach + 1)
    probability = np.exp(-(support.astype(float) ** 2) / (2 * float(variance)))
    probability /= probability.sum()
    edges = np.unique(np.round(np.linspace(-3 * deviation, 3 * deviation, 24)).astype(int))
    bins = np.searchsorted(edges, support, side="right")
    expected = np.bincount(bins, probability) * len(draws)
    found = np.bincount(np.searchsorted(edges, draws, side="right"), minlength=len(expected))
    large = expected > 5
    folded = [np.append(counts[large], counts[~large].sum()) for counts in (found.astype(float), expected)]
    kept = folded[1] > 0
    assert chisquare(folded[0][kept], folded[1][kept]).pvalue > 0.01


def test_huge_variances_are_whole_numbers_without_rounding():
    variance = Fraction(82 * 2**60)
    draws = [discrete_gaussian(variance, below=random.Random(seed).randrange) for seed in range(300)]
    assert {type(draw) for draw in draws} == {int}
    assert len({draw % 2 for draw in draws}) == 2  # a float of that size would be even
    assert 0.8 < np.var([float(draw) for draw in draws]) / float(variance) < 1.2


def test_the_noise_does_not_depend_on_a_seed():
    def draws():
        random.seed(0)
        np.random.seed(0)
        return [discrete_gaussian(Fraction(10**12)) for _ in range(5)]

    assert draws() != draws()


@pytest.mark.parametrize("variance", [Fraction(0), Fraction(-1)])
def test_no_noise_is_refused(variance):
    with pytest.raises(PrivacyError, check=coded("protocols.no-sensitivity")):
        discrete_gaussian(variance)
