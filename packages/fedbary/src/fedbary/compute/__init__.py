"""Where arithmetic on many rows runs: NumPy, or a GPU where that is faster; arrays in, arrays out."""

from fedbary.compute.arrays import NUMPY, Array, Arrays
from fedbary.compute.device import DEVICES, arrays_for, computing_on, device_of_models, device_used

__all__ = ["DEVICES", "NUMPY", "Array", "Arrays", "arrays_for", "computing_on", "device_of_models", "device_used"]
