"""Transport of a large cloud is the same where a GPU does the passes: PyTorch's CPU takes its place here."""

import numpy as np
import pytest

from fedbary.compute import computing_on, device, device_used
from fedbary.protocols.sketch.answer import lower_end
from fedbary.protocols.sketch.sketch import SketchPoints
from fedbary.transport.cloud import CloudInMemory, CloudOnDevice, on_device
from fedbary.transport.semi_discrete import Targets, semi_discrete, survey

# What docs/performance.md states, relative to the largest value.
TOLERANCE = {np.float64: 1e-9, np.float32: 1e-4}


@pytest.fixture(autouse=True)
def gpu(monkeypatch):
    pytest.importorskip("torch")
    from fedbary.compute.arrays import TorchArrays

    monkeypatch.setattr(device, "_cuda_arrays", lambda: TorchArrays("cpu"))


def problem(rows: int = 30_000, count: int = 12):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 5)) + 4.0 * (np.arange(rows) % 2)[:, None]
    Y = rng.normal(size=(count, 5)) + 4.0 * (np.arange(count) % 2)[:, None]
    return CloudInMemory(X, rng.dirichlet(np.full(rows, 3.0))), Y, rng.dirichlet(np.full(count, 8.0))


def test_a_cloud_is_held_where_a_device_is_chosen():
    cloud, Y, _ = problem()
    assert on_device(cloud, Y) is cloud
    with computing_on("cuda"):
        there = on_device(cloud, Y)
    assert isinstance(there, CloudOnDevice)
    np.testing.assert_array_equal(there.weights, cloud.weights)
    np.testing.assert_array_equal(np.concatenate(list(there.chunks())), cloud.points)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("cap", [None, 30.0])
@pytest.mark.parametrize("first", [[0], [0, 5, 6]], ids=["one region", "three regions"])
def test_a_pass_finds_the_same(kind, cap, first):
    cloud, Y, b = problem()
    targets, g = Targets(Y, b, np.array(first), cap), np.random.default_rng(1).normal(size=len(b))
    here = survey(cloud, targets, g, kind)
    with computing_on("cuda"):
        there = survey(on_device(cloud, Y), targets, g, kind)
    # Where two targets are equally near, rounding decides.
    surely = here.margin > TOLERANCE[kind] * np.abs(here.value).max()
    np.testing.assert_array_equal(there.best[surely], here.best[surely])
    for name in ("value", "margin", "outside"):
        one, other = getattr(here, name), getattr(there, name)
        np.testing.assert_allclose(other, one, rtol=0, atol=TOLERANCE[kind] * np.abs(one).max())


def test_the_certified_lower_end_is_the_same():
    cloud, Y, b = problem()
    sketch = SketchPoints(Y, b, np.full(len(b), 0.05), 100.0)
    found = semi_discrete(cloud, Y, b)
    with computing_on("cpu"):
        here = lower_end(cloud, sketch, found)
    with computing_on("cuda"):
        there = lower_end(cloud, sketch, found)
        assert device_used() == "cuda"
    assert 0.0 < here < found.cost
    assert there == pytest.approx(here, rel=1e-4)  # its prices are found in float32, and certified in float64


@pytest.mark.parametrize("cap", [None, 30.0])
def test_the_whole_transport_is_as_good_and_proved_alike(cap):
    cloud, Y, b = problem()
    with computing_on("cpu"):
        here = semi_discrete(cloud, Y, b, cap=cap)
    with computing_on("cuda"):
        there = semi_discrete(cloud, Y, b, cap=cap)
        assert device_used() == "cuda"
    assert there.gap <= 1e-4 * there.cost
    assert abs(there.cost - here.cost) <= there.gap + here.gap + 1e-9 * here.cost
    costs = ((cloud.points[:, None] - Y) ** 2).sum(axis=2)
    costs = costs if cap is None else np.minimum(costs, cap)
    assert (there.source_potential[:, None] + there.target_potential - costs).max() <= 1e-9 * costs.max()
    np.testing.assert_allclose(np.bincount(there.target, there.mass), b, rtol=0, atol=1e-12)
