"""Settings for all tests: one thread per process, no network, small hypothesis runs."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("POT_BACKEND_DISABLE_PYTORCH", "1")
os.environ.setdefault("FEDBARY_OFFLINE", "1")

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "ci", max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ci")


@pytest.fixture(scope="session")
def digits():
    """All 1797 digits as one table."""
    import fedbary as fb

    return fb.datasets.load("digits").all()


@pytest.fixture(scope="session")
def five_clients(digits):
    """The setting of the demo: 1000 digits for five clients, 797 as reference."""
    import fedbary as fb

    train, reference = fb.partitions.by_size(digits, [1000, 797], seed=3).clients.values()
    return train, reference


def pytest_collection_modifyitems(items):
    """Flower's real processes take longest, so their group starts first."""
    items.sort(key=lambda item: not any(mark.args == ("flower",) for mark in item.iter_markers("xdist_group")))
