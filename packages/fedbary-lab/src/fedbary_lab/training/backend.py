"""PyTorch, which is an optional extra: imported where it is used; and how it uses the cores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from threading import RLock
from typing import TYPE_CHECKING, Literal, TypeVar, get_args

from fedbary.errors import SettingsError, wrong_parameter

if TYPE_CHECKING:
    import torch

Precision = Literal["float32", "float64"]
Part = TypeVar("Part")
Done = TypeVar("Done")


def require_torch() -> None:
    """Refuse with the remedy where PyTorch is missing.

    Examples
    --------
    >>> require_torch()
    """
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise SettingsError("research.torch-missing") from error


def torch_dtype(precision: Precision) -> torch.dtype:
    """PyTorch's type for ``"float32"`` or ``"float64"``.

    Examples
    --------
    >>> torch_dtype("float64")
    torch.float64
    """
    require_torch()
    import torch

    if precision not in get_args(Precision):
        raise wrong_parameter("dtype", "Evaluator", "one of float32, float64", precision)
    return torch.float64 if precision == "float64" else torch.float32


_RANDOMNESS = RLock()


@contextmanager
def own_randomness(*, enabled: bool = True) -> Iterator[None]:
    """PyTorch's common randomness for oneself: no other thread draws meanwhile, and it is given back as it was."""
    import torch

    with _RANDOMNESS if enabled else nullcontext(), torch.random.fork_rng(devices=[], enabled=enabled):
        yield


def workers(threads: int | None = None) -> int:
    """How many threads to use: as many as asked for, or as there are cores.

    Examples
    --------
    >>> workers(3)
    3
    """
    if threads is not None and threads < 1:
        raise wrong_parameter("threads", "the training", "at least 1", threads)
    if threads is not None:
        return threads
    from joblib import cpu_count

    return int(cpu_count())  # what this process may use, which in a container is less than the machine has


def in_parallel(work: Callable[[Part], Done], parts: Sequence[Part], threads: int) -> list[Done]:
    """Do independent parts of the work in threads of their own, each of which uses one core.

    PyTorch's own threads would wait for each other after every operation, which on a busy machine takes many times
    as long as the operation. Its setting is restored at the end.

    Examples
    --------
    >>> in_parallel(lambda number: number**2, [1, 2, 3], threads=2)
    [1, 4, 9]
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        if min(threads, len(parts)) <= 1:
            return [work(part) for part in parts]
        pool = ThreadPoolExecutor(threads, initializer=lambda: torch.set_num_threads(1))
        try:
            futures = [pool.submit(work, part) for part in parts]
            finished, _ = wait(futures, return_when=FIRST_EXCEPTION)
            for future in finished:  # the error that ended the wait, if there was one
                future.result()
            return [future.result() for future in futures]
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    finally:
        torch.set_num_threads(before)
