"""Settings for all tests: one thread per process, no network, small hypothesis runs."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("POT_BACKEND_DISABLE_PYTORCH", "1")
os.environ.setdefault("FEDBARY_OFFLINE", "1")
os.environ.setdefault("FEDBARY_NO_BROWSER", "1")
os.environ |= {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "FLWR_TELEMETRY_ENABLED": "0"}

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from measured import Measured, function_of, slow_tests

for profile, examples in {"ci": 25, "quick": 5}.items():
    settings.register_profile(
        profile, max_examples=examples, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
    )
settings.load_profile(os.environ.get("FEDBARY_EXAMPLES", "ci"))  # `make check` tries few

# A job in the background, nohup and some CI ignore Ctrl-C, and whatever they start inherits that; a shell cannot even
# undo it. Here it is undone for all programs that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


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


@pytest.fixture
def clock(monkeypatch):
    """The seconds that a game counts, which pass when the test says so."""
    from clock import Clock

    clock = Clock()
    monkeypatch.setattr("fedbary.games.game.perf_counter", clock)
    return clock


@pytest.fixture
def fashion(monkeypatch):
    """The 630 images of Fashion-MNIST that lie beside the tests."""
    import fedbary as fb

    monkeypatch.setenv("FEDBARY_DATA", str(Path(__file__).parent / "packages/fedbary-lab/tests/data"))
    return fb.datasets.load("fashion-mnist")


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of the browser in which pages are looked at."""
    pytest.importorskip("playwright")
    from chromium import found

    return found()


@pytest.fixture(scope="session")
def browser(chromium) -> Iterator:
    """That browser, started once for all tests of a worker."""
    from playwright.sync_api import sync_playwright

    from chromium import QUIET

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=list(QUIET))
        yield started
        started.close()


@pytest.fixture
def opened(browser) -> Iterator[Callable]:
    """Open a file offline; at the end no page may have complained, or asked for anything but itself and downloads."""
    pages = []

    def open_file(path: Path, **options):
        page = browser.new_page(**{"offline": True, "viewport": {"width": 1100, "height": 800}} | options)
        requests, problems = [], []
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        pages.append((page, path, requests, problems))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-charts]")
        return page

    yield open_file
    for page, path, requests, problems in pages:
        assert [url for url in requests if not url.startswith("blob:")] == [path.as_uri()]
        assert problems == []
        page.close()


@pytest.fixture(scope="session")
def serious() -> Callable:
    """What axe finds serious or critical on a page."""

    def find(page) -> list[str]:
        from axe_playwright_python.sync_playwright import Axe

        found = Axe().run(page).response["violations"]
        return [f"{one['id']}: {one['nodes'][0]['html']}" for one in found if one["impact"] in ("serious", "critical")]

    return find


# Tests of these files share what is costly to start, so one worker runs them, one after the other. Real processes take
# longest and start first.
GROUPS = {
    "test_federation_setup.py": "flower",
    "test_flower_deployment.py": "flower",
    "test_flower_docs.py": "flower",
    "test_flower_faults.py": "flower",
    "test_flower_simulation.py": "flower",
    "test_nvflare_deployment.py": "flare",
    "test_nvflare_docs.py": "flare",
    "test_nvflare_simulator.py": "flare",
    "test_site.py": "site",
}
FIRST = ("flower", "flare")


def pytest_configure(config):
    """`make test` measures: a test that is taken for quick and is not fails it."""
    if (said := os.environ.get("FEDBARY_MEASURE")) and not config.pluginmanager.has_plugin("measured-tests"):
        config.pluginmanager.register(Measured(said), "measured-tests")


def pytest_collection_modifyitems(items):
    slow = slow_tests()  # measured, not guessed: tools/mark_slow.py writes the list
    for item in items:
        if function_of(item.nodeid) in slow:
            item.add_marker("slow")
    items.sort(key=lambda item: GROUPS.get(item.path.name) not in FIRST)


def _without_gaps(report):
    """`make test` has every extra: a test that is skipped because one is missing has failed there."""
    if os.environ.get("FEDBARY_NO_SKIPS") == "1" and report.skipped and "could not import" in str(report.longrepr):
        report.outcome = "failed"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    return _without_gaps((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    return _without_gaps((yield))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Groups by file: pytest 9.2 drops the suffix of test names by which pytest-xdist 3.8 knows its group marks."""
    from xdist.scheduler import LoadGroupScheduling

    class ByFile(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return GROUPS.get(Path(nodeid.partition("::")[0]).name, nodeid)

    return ByFile(config, log)


@pytest.fixture(params=["numpy", "torch"])
def xp(request):
    """The arrays that kernels compute with: NumPy's, and PyTorch's on the CPU where that is installed."""
    if request.param == "numpy":
        from fedbary.compute.arrays import NUMPY

        return NUMPY
    pytest.importorskip("torch")
    from fedbary.compute.arrays import TorchArrays

    return TorchArrays("cpu")
