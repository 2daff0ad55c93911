"""Own rows at home: they help where the received model is weak, and stay silent where they cannot."""

import numpy as np
import pytest
from scipy.special import log_softmax

from fedbary.data.spool import Spool
from fedbary.valuation.own_rows import _OwnMeans, blended


def client(seed, *, sure):
    """Two blobs with a tenth of the labels wrong, and a model that is right about them as far as it is ``sure``."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, 200)
    features = rng.normal(size=(200, 2)) + 4.0 * truth[:, None]
    codes = np.where(rng.random(200) < 0.1, 1 - truth, truth)
    logs = log_softmax(sure * np.eye(2)[truth] + rng.normal(size=(200, 2)), axis=1)
    return logs, features, codes, codes != truth


def together(logs, features, codes):
    return np.concatenate(list(blended(Spool.of(logs), Spool.of(features), codes)))


def separation(logs, codes, wrong):
    scores = -logs[np.arange(len(codes)), codes]
    return np.mean(scores[wrong][:, None] > scores[~wrong])


def test_a_weak_model_gets_better_by_the_clients_own_class_means():
    logs, features, codes, wrong = client(0, sure=0.5)
    assert separation(together(logs, features, codes), codes, wrong) > separation(logs, codes, wrong) + 0.1


def test_noise_features_are_left_alone():
    logs, _, codes, _ = client(0, sure=6.0)
    noise = np.random.default_rng(1).normal(size=(200, 5))
    np.testing.assert_array_equal(together(logs, noise, codes), logs)


def test_a_row_is_judged_without_itself():
    """The closed form is what leaving each row out gives, the mean of all rows aside."""
    _, features, codes, _ = client(0, sure=1.0)
    found = _OwnMeans.of(Spool.of(features), codes, 2).potentials(features, codes)
    pull = 2.0 * features.mean(axis=0)
    for row in (0, 57, 199):
        others = np.delete(np.arange(200), row)
        for code in (0, 1):
            mine = features[others][codes[others] == code]
            mean = (mine.sum(axis=0) + pull) / (len(mine) + 2.0)
            assert found[row, code] == pytest.approx(-0.5 * ((features[row] - mean) ** 2).sum())
