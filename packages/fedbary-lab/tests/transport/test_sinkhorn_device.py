"""Entropic transport on another device."""

import numpy as np
import pytest

from fedbary.compute import computing_on, device, device_used
from fedbary_lab.transport.sinkhorn import sinkhorn


def test_entropic_transport_is_the_same_on_both(monkeypatch):
    pytest.importorskip("torch")
    from fedbary.compute.arrays import TorchArrays

    # A machine with a GPU, whose place the CPU takes.
    monkeypatch.setattr(device, "_driver_present", lambda: True)
    monkeypatch.setattr(device, "_cuda_arrays", lambda: TorchArrays("cpu"))
    rng = np.random.default_rng(0)
    costs = ((rng.normal(size=(40, 1, 3)) - rng.normal(size=(25, 3))) ** 2).sum(axis=2)
    a, b = rng.dirichlet(np.full(40, 5.0)), rng.dirichlet(np.full(25, 5.0))
    with computing_on("cpu"):
        here = sinkhorn(costs, a, b, epsilon=0.05)
    with computing_on("cuda"):
        there = sinkhorn(costs, a, b, epsilon=0.05)
        assert device_used() == "cuda"
    # Both meet the marginals to 1e-9; the potentials are as certain as that, in units of the largest cost.
    assert there.error <= 1e-9
    np.testing.assert_allclose(there.source_potential, here.source_potential, rtol=0, atol=1e-6 * costs.max())
    np.testing.assert_allclose(there.target_potential, here.target_potential, rtol=0, atol=1e-6 * costs.max())
