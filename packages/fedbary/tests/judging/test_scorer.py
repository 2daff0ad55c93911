"""Scores of rows are the same on PyTorch as on NumPy, to the tolerance that docs/performance.md states."""

import numpy as np
import pytest

from fedbary.compute import computing_on, device
from fedbary.compute.arrays import moved
from fedbary.judging.scoring import Scorer, ScoringModel
from fedbary.judging.scoring_fit import fit_scoring_model

TOLERANCE = 1e-9


def rows(count: int, width: int, seed: int):
    rng = np.random.default_rng(seed)
    codes = np.arange(count) % 3
    return rng.normal(size=(count, width)) * (1.0 + codes[:, None]) + 2.0 * rng.normal(size=(3, width))[codes], codes


@pytest.fixture(
    scope="module", params=[(300, 6), (300, 140), (90, 140)], ids=["narrow", "wide", "wider than it has rows"]
)
def model(request) -> ScoringModel:
    return fit_scoring_model(*rows(*request.param, 0), ("a", "b", "c"), seed=0).model


def test_every_score_is_that_of_the_model(xp, model):
    values, _ = rows(500, len(model.metric.mean), 1)
    expected, found = model.scores(values), xp.numpy(moved(model, xp).scores_on(xp.asarray(values), xp))
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE * max(np.abs(expected).max(), 1.0))


def test_single_precision_stays_single(xp, model):
    values, _ = rows(500, len(model.metric.mean), 1)
    values, single = values.astype(np.float32), model.in_single()
    expected, found = single.scores(values), xp.numpy(moved(single, xp).scores_on(xp.asarray(values), xp))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4 * max(np.abs(expected).max(), 1.0))


def test_a_class_without_centroids_is_as_unlikely_as_can_be(xp, model):
    arrays = model.to_arrays()
    arrays["shared.classes"] = np.zeros_like(arrays["shared.classes"])
    lame = ScoringModel.from_arrays(arrays)
    values, _ = rows(20, len(model.metric.mean), 1)
    with np.errstate(all="ignore"):
        expected = lame.scores(values)
        logs = xp.numpy(moved(lame, xp).scores_on(xp.asarray(values), xp))
    np.testing.assert_array_equal(np.isfinite(logs), np.isfinite(expected))


def test_the_scorer_goes_where_it_is_told(model, monkeypatch):
    pytest.importorskip("torch")
    from fedbary.compute.arrays import TorchArrays

    monkeypatch.setattr(device, "_cuda_arrays", lambda: TorchArrays("cpu"))
    values, _ = rows(50, len(model.metric.mean), 2)
    with computing_on("cpu"):
        here = Scorer(model, len(values))(values)
    with computing_on("cuda"):
        there = Scorer(model, len(values))(values)
    np.testing.assert_allclose(here, there, rtol=0, atol=TOLERANCE * max(np.abs(here).max(), 1.0))
    assert not np.array_equal(here, there)
