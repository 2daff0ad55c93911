"""Five ways in which a node fails, each as a function of (message, honest reply) for `InProcessGrid`."""

import numpy as np
from flwr.app import Array

from inprocess import raised, silent


def not_finite(message, honest):
    """Numbers that are none."""
    reply = honest()
    scalars, arrays = reply.content["scalars"], reply.content["arrays"]
    for name, value in list(scalars.items()):
        if isinstance(value, float):
            scalars[name] = float("nan")
    for name, array in list(arrays.items()):
        if array.numpy().dtype.kind == "f":
            arrays[name] = Array(np.full_like(array.numpy(), np.nan))
    return reply


def misshapen(message, honest):
    """Arrays with a row too many, and one that nobody asked for where there are none."""
    reply = honest()
    arrays = reply.content["arrays"]
    for name, array in list(arrays.items()):
        arrays[name] = Array(np.concatenate([np.atleast_1d(array.numpy())] * 2))
    if not arrays:
        arrays["points"] = Array(np.zeros((3, 4)))
    return reply


def replayed(message, honest):
    """A true answer, but of another run."""
    message.content["fedbary"]["session"] = "0" * 32
    return honest()


FAULTS = {"raise": raised, "silence": silent, "NaN": not_finite, "wrong shape": misshapen, "replay": replayed}
