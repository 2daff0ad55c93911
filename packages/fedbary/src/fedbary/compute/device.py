"""Which device computes: the one that was asked for, or a GPU where there is one and it is worth it; all cores.

Cores are threads that take turns at a source, as arithmetic on arrays lets others work.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, Literal, TypeAlias, TypeVar

from fedbary.checks import one_of
from fedbary.compute.arrays import NUMPY, Arrays, TorchArrays
from fedbary.errors import SettingsError

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
Device: TypeAlias = Literal["auto", "cpu", "cuda"]
DEVICES = ("auto", "cpu", "cuda")

# Multiplications from which a GPU wins although PyTorch and its driver take some seconds to start: two cores do 1 to 3
# times 10¹⁰ in a second, with what goes with them (`python benchmarks/gpu.py` prints both).
WORTH_A_START = 1e11
# What NVIDIA's driver leaves where it runs, here and under Windows' Linux: to look costs nothing, to import PyTorch two
# seconds.
_DRIVER = (Path("/dev/nvidiactl"), Path("/dev/dxg"))
_END: Any = object()
# More threads wait for memory, not for arithmetic.
_MOST_CORES = 8


@dataclass(eq=False)
class _Choice:
    """What was asked for, and whether the GPU has been used since."""

    device: str = "auto"
    used: bool = False


_lock = Lock()
_choices = [_Choice()]


@contextmanager
def computing_on(device: str, owner: str = "computing_on") -> Iterator[None]:
    """Choose the device for all threads of this process: ``cpu``, ``cuda``, or ``auto``, which takes what is faster.

    Parameters
    ----------
    device : {"auto", "cpu", "cuda"}
        With ``cuda`` everything that can runs on the GPU, however little it is; ``auto`` leaves a choice that was made
        around it.
    owner : str
        Whose parameter it is, where it makes no sense.
    """
    one_of(device, "device", owner, DEVICES)
    if device == "cuda":
        _require_cuda()
    choice = _Choice(device)
    with _lock:
        _choices.append(choice)
    try:
        yield
    finally:
        with _lock:  # another thread may have chosen since
            _choices.remove(choice)


def arrays_for(work: float) -> Arrays:
    """What computes something that takes this many multiplications, all its parts together."""
    device = _chosen()
    # Whether there is a GPU to be expected is known without importing anything.
    expected = work >= WORTH_A_START and find_spec("torch") is not None and _driver_present()
    if device == "cpu" or (device == "auto" and not expected):
        return NUMPY
    found = _cuda_arrays()
    if found is None:
        return NUMPY
    for choice in tuple(_choices):
        choice.used = True
    return found


def device_used() -> str:
    """``cuda`` where something ran on the GPU since the device was chosen, else ``cpu``."""
    return "cuda" if _choices[-1].used else "cpu"


def device_of_models() -> str:
    """Where a model of PyTorch runs, which is imported anyway."""
    return "cpu" if _chosen() == "cpu" or _cuda_arrays() is None else "cuda"


def by_all_cores(work: Callable[[_Item], object], items: Iterable[_Item]) -> None:
    """Do some work with each of many items; no more of them are made at a time than there are cores."""
    source, turn = iter(items), Lock()

    def one_core() -> None:
        while True:
            with turn:
                item = next(source, _END)
            if item is _END:
                return
            work(item)

    if (cores := _cores()) == 1:
        one_core()
        return
    with ThreadPoolExecutor(cores, thread_name_prefix="fedbary-core") as threads:
        for done in [threads.submit(copy_context().run, one_core) for _ in range(cores)]:
            done.result()


def map_by_all_cores(work: Callable[[_Item], _Result], items: Sequence[_Item]) -> list[_Result]:
    """The results of some work with each of a few items that are in memory, in their order."""
    cores = min(_cores(), len(items))
    if cores <= 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(cores, thread_name_prefix="fedbary-core") as threads:
        # In a copy of this context: what NumPy warns of here, it is to warn of there.
        return [done.result() for done in [threads.submit(copy_context().run, work, item) for item in items]]


def _cores() -> int:
    return min(_MOST_CORES, os.cpu_count() or 1)


def _chosen() -> str:
    return next((choice.device for choice in reversed(_choices) if choice.device != "auto"), "auto")


def _driver_present() -> bool:
    if sys.platform == "win32":
        from ctypes.util import find_library

        return find_library("nvcuda") is not None
    return any(file.exists() for file in _DRIVER)


@cache
def _cuda_arrays() -> Arrays | None:
    """PyTorch on the GPU, where it can use one."""
    import torch

    return TorchArrays("cuda") if torch.cuda.is_available() else None


def _require_cuda() -> None:
    if find_spec("torch") is None:
        raise SettingsError("settings.cuda-without-torch")
    if _cuda_arrays() is None:
        import torch

        raise SettingsError("settings.cuda-without-gpu", version=torch.__version__)
