"""Which device is chosen, and that nothing heavy is imported to choose it."""

import subprocess
import sys
from pathlib import Path

import pytest

from codes import coded, parameter
from fedbary.compute import arrays_for, computing_on, device, device_of_models, device_used
from fedbary.errors import SettingsError

LARGE = 10 * device.WORTH_A_START


@pytest.fixture
def gpu(monkeypatch):
    """A machine with a GPU, whose place the CPU takes."""
    pytest.importorskip("torch")
    from fedbary.compute.arrays import TorchArrays

    monkeypatch.setattr(device, "_driver_present", lambda: True)
    monkeypatch.setattr(device, "_cuda_arrays", lambda: TorchArrays("cpu"))


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(device, "_driver_present", lambda: False)
    monkeypatch.setattr(device, "_cuda_arrays", lambda: None)


def on_gpu(work: float) -> bool:
    return type(arrays_for(work)).__name__ == "TorchArrays"


@pytest.mark.usefixtures("gpu")
def test_the_gpu_is_taken_where_the_work_is_worth_its_start():
    assert on_gpu(LARGE)
    assert not on_gpu(1.0)
    with computing_on("cpu"):
        assert not on_gpu(LARGE)
        assert device_of_models() == "cpu"
    with computing_on("cuda"):
        assert on_gpu(1.0)
        assert device_of_models() == "cuda"


@pytest.mark.usefixtures("gpu")
def test_what_was_used_is_known_until_another_choice():
    with computing_on("auto"):
        assert device_used() == "cpu"
        arrays_for(1.0)
        assert device_used() == "cpu"
        with computing_on("auto"):
            arrays_for(LARGE)
        assert device_used() == "cuda"
    with computing_on("auto"):
        assert device_used() == "cpu"


@pytest.mark.usefixtures("gpu")
def test_choices_of_threads_may_end_in_any_order():
    first, second = computing_on("cuda"), computing_on("cpu")
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not on_gpu(LARGE)
    second.__exit__(None, None, None)
    assert on_gpu(LARGE)
    assert not on_gpu(1.0)


@pytest.mark.usefixtures("no_gpu")
def test_without_a_gpu_everything_runs_on_the_cpu_and_asking_for_one_is_refused():
    assert not on_gpu(LARGE)
    assert device_of_models() == "cpu"
    pytest.importorskip("torch")
    with pytest.raises(SettingsError, check=coded("settings.cuda-without-gpu")), computing_on("cuda"):
        pass


def test_without_pytorch_the_remedy_is_to_install_it(monkeypatch):
    monkeypatch.setattr(device, "find_spec", lambda _: None)
    monkeypatch.setattr(device, "_driver_present", lambda: True)
    assert not on_gpu(LARGE)
    with pytest.raises(SettingsError, check=coded("settings.cuda-without-torch")), computing_on("cuda"):
        pass


def test_a_device_that_there_is_not_is_refused():
    with pytest.raises(SettingsError, check=parameter("device")), computing_on("tpu"):
        pass


def test_a_driver_leaves_a_file_that_is_looked_for(monkeypatch, tmp_path: Path):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(device, "_DRIVER", (tmp_path / "nvidiactl",))
    assert not device._driver_present()
    (tmp_path / "nvidiactl").touch()
    assert device._driver_present()


def test_pytorch_is_not_imported_where_there_is_no_gpu():
    code = """
import sys
sys.modules["geomloss"] = None  # POT imports it where it is installed, and with it PyTorch
import fedbary as fb
from fedbary.compute import arrays_for, device
device._driver_present = lambda: False
digits = fb.datasets.load("digits")
parts = fb.partitions.by_size(digits.train, [60, 60], seed=0).clients
one, other = (fb.value(parts, digits.test, seed=0, device=name) for name in ("auto", "cpu"))
assert one.clients.equals(other.clients)
for name in parts:
    assert one.rows(name).equals(other.rows(name))
assert one.settings["device"] == other.settings["device"] == "cpu"
arrays_for(1e15)
print("torch" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
