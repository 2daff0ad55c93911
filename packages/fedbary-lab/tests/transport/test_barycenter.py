"""Free-support barycenters: POT's fixed point, and the answer where it is known."""

import numpy as np
import ot
import pytest

from codes import coded
from fedbary.errors import TransportError
from fedbary.transport import solve
from fedbary_lab.transport.barycenter import free_support_barycenter


def test_the_barycenter_descends_and_equals_pots_fixed_point():
    rng = np.random.default_rng(0)
    clouds = [rng.normal(size=(30, 2)) + shift for shift in ([0, 0], [4, 0], [0, 4])]
    start = rng.normal(size=(15, 2))
    ours = free_support_barycenter([(cloud, None) for cloud in clouds], start, max_steps=10, tolerance=0.0)
    theirs = ot.lp.free_support_barycenter(
        clouds, [np.full(30, 1 / 30)] * 3, start, b=np.full(15, 1 / 15), weights=np.full(3, 1 / 3), numItermax=10,
        stopThr=0.0,
    )  # fmt: skip
    np.testing.assert_allclose(ours.points, theirs, atol=1e-9)
    assert all(later <= earlier + 1e-12 for earlier, later in zip(ours.objective, ours.objective[1:], strict=False))


def test_the_barycenter_of_one_measure_is_that_measure():
    cloud = np.random.default_rng(0).normal(size=(12, 3))
    found = free_support_barycenter([(cloud, None)], np.random.default_rng(1).normal(size=(12, 3)))
    assert found.converged
    assert solve(found.points, cloud).distance == pytest.approx(0.0, abs=1e-9)


def test_a_barycenter_needs_measures_and_proper_weights():
    with pytest.raises(TransportError, check=coded("research.no-measure")):
        free_support_barycenter([], np.zeros((1, 1)))
    with pytest.raises(TransportError, check=coded("research.barycenter-weights")):
        free_support_barycenter([(np.zeros((1, 1)), None)], np.zeros((1, 1)), weights=np.array([0.5]))
