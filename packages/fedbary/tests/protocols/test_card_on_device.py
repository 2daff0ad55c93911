"""A card is the same where a GPU adds up: PyTorch's CPU takes its place here."""

import numpy as np
import pytest

import fedbary as fb
from fedbary.compute import device
from fedbary.protocols.cards.card import ARRAYS


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_every_sum_is_the_same_to_the_stated_tolerance(monkeypatch, task):
    pytest.importorskip("torch")
    from fedbary.compute.arrays import TorchArrays

    monkeypatch.setattr(device, "_cuda_arrays", lambda: TorchArrays("cpu"))
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 7)) * 100.0 + 1e4, rng.integers(0, 4, 600).astype(float)
    here, there = (fb.card((X, y), task=task, device=name).card for name in ("cpu", "cuda"))
    assert here.classes == there.classes
    np.testing.assert_array_equal(here.counts, there.counts)
    # Of all rows together, sums about the mean are zero but for rounding: what they are made of is their scale.
    scales = {"centre": 1e4, "counts": 1.0, "sums": 600 * 100.0, "second": 600 * 100.0**2}
    for name in ARRAYS:
        np.testing.assert_allclose(getattr(there, name), getattr(here, name), rtol=0, atol=1e-9 * scales[name])
